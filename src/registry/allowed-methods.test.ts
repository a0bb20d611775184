import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import { storesObjects } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import type { StatusError } from '../meta/status-error.ts';
import { parseRequestInfo } from '../request/request-info.ts';
import { checkRequest } from './registry.ts';
import { withoutObjects } from './registry-fixture.ts';

/* Methods of all paths of all kinds: anything else is a 405 with the allowed methods, or a 404. */

const served = withoutObjects(kinds(orch));

/** The status code, and the methods that a 405 allows; 0 if the request is accepted. */
function outcome(method: string, target: string): string {
  const info = parseRequestInfo(method, target);
  assert.ok(info.type === 'resource');
  const resource = served.find(info.group, info.version, info.resource);
  assert.ok(resource, target);
  try {
    checkRequest({ info, served: resource });
    return '0';
  } catch (error) {
    const { code, headers } = error as StatusError;
    return headers['allow'] === undefined ? String(code) : `${code} ${headers['allow']}`;
  }
}

const writes = ['POST', 'PUT', 'PATCH', 'DELETE'];
const methods = ['GET', 'HEAD', ...writes];

for (const kind of kinds(orch)) {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const across = `${root}/${kind.resource}`;
  const within = `${root}/namespaces/n/${kind.resource}`;
  const watchRoot = `${root}/watch`;

  describe(`the paths of ${kind.kind}`, () => {
    if (kind.scope === 'Namespaced') {
      test('across namespaces: read only, or not found', () => {
        const read = storesObjects(kind) ? '0' : '404';
        const refused = storesObjects(kind) ? '405 GET, HEAD' : '404';
        assert.deepEqual(
          methods.map((method) => outcome(method, across)),
          [read, read, refused, refused, refused, refused],
        );
        assert.equal(outcome('GET', `${across}?watch=1`), read);
        assert.equal(outcome('GET', `${across}?fieldSelector=metadata.name%3Dx`), read);
      });

      test('an object without its namespace is not found', () => {
        for (const method of methods) assert.equal(outcome(method, `${across}/x`), '404', method);
        for (const { name } of kind.subresources) assert.equal(outcome('GET', `${across}/x/${name}`), '404');
      });
    } else {
      test('not found below a namespace', () => {
        for (const method of methods) {
          assert.equal(outcome(method, within), '404', method);
          assert.equal(outcome(method, `${within}/x`), '404', method);
        }
        assert.equal(outcome('GET', `${watchRoot}/namespaces/n/${kind.resource}`), '404');
      });
    }

    test('watch paths: read only, or not found', () => {
      const read = storesObjects(kind) ? '0' : '404';
      const refused = storesObjects(kind) ? '405 GET, HEAD' : '404';
      const collections =
        kind.scope === 'Namespaced'
          ? [`${watchRoot}/${kind.resource}`, `${watchRoot}/namespaces/n/${kind.resource}`]
          : [`${watchRoot}/${kind.resource}`];
      const one = `${collections.at(-1)}/x`;
      for (const path of [...collections, one]) {
        assert.deepEqual(
          methods.map((method) => outcome(method, path)),
          [read, read, refused, refused, refused, refused],
          path,
        );
      }
      if (kind.scope === 'Namespaced') assert.equal(outcome('GET', `${watchRoot}/${kind.resource}/x`), '404');
    });
  });
}
