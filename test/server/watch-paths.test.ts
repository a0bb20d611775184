import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, make, outcome, refusal, rule, user } from '../support/authorization.ts';
import { OrchProcess, type WatchClient } from '../support/orch-process.ts';

/** Watches by the paths that there were before the parameter: `/api/v1/watch/...`. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const core = '/api/v1';
const coordination = '/apis/coordination.orch.io/v1';
const configMaps = 'namespaces/place/configmaps';
let first = '';

before(async () => {
  server = held.use(await OrchProcess.start({ flags: [folder.tokens({ lister: [], watcher: [], named: [] })] }));
  await make(server, `${core}/namespaces`, { metadata: { name: 'place' } });
  await until(async () => (await server.get(`${core}/${configMaps}/orch-root-ca.crt`)).status === 200, 'no root');
  const made = await make(server, `${core}/${configMaps}`, { metadata: { name: 'a', labels: { of: 'test' } } });
  first = (made['metadata'] as { resourceVersion: string }).resourceVersion;
  await make(server, `${core}/${configMaps}`, { metadata: { name: 'b', labels: { of: 'test' } } });
  await make(server, `${coordination}/namespaces/place/leases`, { metadata: { name: 'l' } });
  await make(server, `${core}/nodes`, { metadata: { name: 'n' } });
  await grant(server, 'lister', [rule('list get', 'configmaps')], [user('lister')]);
  await grant(server, 'watcher', [rule('watch', 'configmaps')], [user('watcher')], 'place');
  await grant(server, 'named', [rule('watch', 'configmaps', { names: ['a'] })], [user('named')], 'place');
});
after(() => held.disposeAsync());

const shown = ({ events }: WatchClient): readonly string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? object.code}`);

/** What a watch shows until it ends by itself. */
async function whole(path: string, shownAs?: { readonly token: string }): Promise<readonly string[]> {
  const separator = path.includes('?') ? '&' : '?';
  const watch = server.watch(`${path}${separator}timeoutSeconds=1`, shownAs);
  await until(() => watch.ended, 'the watch goes on');
  assert.equal(watch.status, 200);
  return shown(watch);
}

const all = ['ADDED a', 'ADDED b'];
const selected = 'labelSelector=of%3Dtest';
const rows: readonly (readonly [path: string, expected: readonly string[]])[] = [
  [`${core}/watch/${configMaps}?${selected}`, all],
  [`${core}/watch/${configMaps}?${selected}&watch=false`, all],
  [`${core}/watch/${configMaps}?fieldSelector=metadata.name%3Db`, ['ADDED b']],
  [`${core}/watch/configmaps?${selected}`, all],
  [`${core}/watch/${configMaps}/a`, ['ADDED a']],
  [`${core}/watch/${configMaps}/a?fieldSelector=metadata.name%3Da`, ['ADDED a']],
  [`${core}/watch/${configMaps}/a?labelSelector=of%3Dother`, []],
  [`${core}/watch/${configMaps}/absent`, []],
  [`${core}/watch/${configMaps}?${selected}&resourceVersion=FIRST`, ['ADDED b']],
  [`${core}/watch/${configMaps}/a?resourceVersion=FIRST`, []],
  [`${core}/watch/namespaces/place`, ['ADDED place']],
  [`${core}/watch/nodes`, ['ADDED n']],
  [`${core}/watch/nodes/n`, ['ADDED n']],
  [`${coordination}/watch/namespaces/place/leases`, ['ADDED l']],
  [`${coordination}/watch/namespaces/place/leases/l`, ['ADDED l']],
  [`${coordination}/watch/leases?fieldSelector=metadata.namespace%3Dplace`, ['ADDED l']],
];

describe('watch paths', { concurrency: rows.length }, () => {
  for (const [path, expected] of rows) {
    test(`${path} shows ${expected.join(', ') || 'nothing'}`, async () => {
      assert.deepEqual(await whole(path.replace('FIRST', first)), expected);
    });
  }
});

test('a watch of one object shows what becomes of it, and of no other', async () => {
  const watch = server.watch(`${core}/watch/${configMaps}/c`);
  await watch.until(({ status }) => status === 200);
  for (const name of ['c', 'd']) await make(server, `${core}/${configMaps}`, { metadata: { name } });
  for (const name of ['d', 'c']) await server.delete(`${core}/${configMaps}/${name}`);
  await watch.until(({ events }) => events.length === 2);
  watch.close();
  assert.deepEqual(shown(watch), ['ADDED c', 'DELETED c']);
});

test('a selector that means another object than the path is refused', async () => {
  for (const selector of ['metadata.name%3Db', 'metadata.namespace%3Dplace', 'metadata.name!%3Da']) {
    const path = `${core}/watch/${configMaps}/a?fieldSelector=${selector}`;
    assert.deepEqual(await outcome(server, 'GET', path), [
      400,
      "fieldSelector metadata.name doesn't match requested name",
    ]);
  }
});

test('they are authorized as watches, of the object that they name', async () => {
  const collection = `${core}/watch/${configMaps}`;
  const asked = { verb: 'watch', resource: 'configmaps', namespace: 'place' };
  for (const method of ['GET', 'POST', 'DELETE']) {
    assert.deepEqual(await outcome(server, method, collection, { as: as('lister') }), [
      403,
      refusal({ by: 'lister', ...asked }),
    ]);
  }
  assert.deepEqual(await whole(`${collection}?${selected}`, as('watcher')), all);
  assert.equal((await outcome(server, 'GET', `${core}/watch/configmaps`, { as: as('watcher') }))[0], 403);
  assert.deepEqual(await whole(`${collection}/a`, as('named')), ['ADDED a']);
  for (const path of [collection, `${collection}/b`, `${core}/watch/configmaps`]) {
    assert.equal((await outcome(server, 'GET', path, { as: as('named') }))[0], 403, path);
  }
});

test('nothing but reading is allowed', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const path of [`${core}/watch/${configMaps}`, `${core}/watch/${configMaps}/a`, `${core}/watch/nodes/n`]) {
      const { status, headers } = await server.request(method, path, method === 'DELETE' ? {} : { body: {} });
      assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD'], `${method} ${path}`);
    }
  }
  assert.equal((await server.get(`${core}/${configMaps}/a`)).status, 200);
});
