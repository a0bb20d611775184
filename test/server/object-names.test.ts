import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serverForSuite } from '../support/in-process-server.ts';

/** Names of kinds whose names are any path segments: what is stored under a name is found by it, and can be deleted. */

const rbac = '/apis/rbac.authorization.orch.io/v1';
/** JSON spells control characters and halves of surrogate pairs as escapes, all others as they are. */
const names = [
  ...['A b', 'a:b', 'a?x=1', 'a#b', '..a', '\u00e4', 'e\u0301', '\u{1f600}', '\u2028', '\ufeff', '\ufffd'],
  ...['\x01', '\n', '\x7f', '\0', 'a\0b', '\ud800', 'a\udfffb', '\udc00\ud800'],
];

describe('the name of an object', () => {
  const running = serverForSuite();

  for (const path of [`${rbac}/clusterroles`, `${rbac}/namespaces/default/roles`]) {
    for (const name of names) {
      it(`${JSON.stringify(name)} is one to find it by, or none: ${path}`, async () => {
        const { side } = running;
        const before = await side.names(path);
        const { status, json } = await side.send('POST', path, { metadata: { name }, rules: [] });
        if (status === 422) return assert.deepEqual(await side.names(path), before);
        assert.equal(status, 201, json.message);
        const one = `${path}/${encodeURIComponent(json.metadata.name)}`;
        assert.equal((await side.get(one)).json.metadata.uid, json.metadata.uid);
        assert.equal((await side.names(path)).length, before.length + 1);
        assert.equal((await side.send('DELETE', one)).status, 200);
        assert.deepEqual(await side.names(path), before);
      });
    }
  }
});
