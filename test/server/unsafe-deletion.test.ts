import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { openStore } from '../../src/store/open.ts';
import { as, Folder, grant, outcome, rule, user } from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Removal of objects that cannot be read (KEP-3926): a verb of its own, beside `delete`. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const configMaps = '/api/v1/namespaces/default/configmaps';
const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const everyVerb = 'get list watch create update patch delete deletecollection';

before(async () => {
  const flags = [
    folder.tokens({ deleter: [], remover: [], named: [], elsewhere: [], root: [] }),
    '--feature-gates=AllowUnsafeMalformedObjectDeletion=true',
  ];
  server = held.use(await OrchProcess.start({ flags }));
  await server.stop();
  const store = await openStore({ backend: 'sqlite', file: join(server.dataDir, 'orch.db'), logger: silentLogger });
  for (const name of ['a', 'b', 'c', 'd']) {
    await store.create(`/core/configmaps/default/${name}`, Buffer.from('damaged'));
  }
  await store.create('/core/configmaps/orch-public/longer', Buffer.from('damaged'));
  await store.create('/core/namespaces/lost', Buffer.from('damaged'));
  await store.close();
  await server.restart();
  const unsafe = 'unsafe-delete-ignore-read-errors';
  await grant(server, 'deleter', [rule(everyVerb, 'configmaps')], [user('deleter')]);
  await grant(server, 'remover', [rule(`delete ${unsafe}`, 'configmaps')], [user('remover')], 'default');
  const named = [rule('delete', 'configmaps'), rule(unsafe, 'configmaps', { names: ['b'] })];
  await grant(server, 'named', named, [user('named')], 'default');
  const elsewhere = [rule('delete', 'configmaps'), rule(unsafe, 'secrets configmaps/status')];
  await grant(server, 'elsewhere', elsewhere, [user('elsewhere')]);
  await grant(server, 'root', [rule('*', '*', { group: '*' })], [user('root')]);
});
after(() => held.disposeAsync());

const inBody: RequestOptions = { body: { [option]: true } };
const deletes = (name: string, object: string, options: RequestOptions = inBody, query = '') =>
  outcome(server, 'DELETE', `${configMaps}/${object}${query}`, { ...options, as: as(name) });

const refused = (name: string): string =>
  `configmaps "${name}" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: `;

for (const [name, holds] of [
  ['deleter', 'every other verb'],
  ['named', 'the verb for another name'],
  ['elsewhere', 'the verb for other resources'],
] as const) {
  test(`who holds ${holds} is refused, and the object stays`, async () => {
    const object = 'a';
    for (const [options, query] of [
      [inBody, ''],
      [{}, `?${option}=true`],
      [{}, `?${option}`],
    ] as const) {
      assert.deepEqual(await deletes(name, object, options, query), [403, refused(object)]);
    }
    assert.equal((await server.get(`${configMaps}/${object}`)).status, 500);
  });
}

test('without the option nothing more is asked, and the object stays', async () => {
  assert.deepEqual((await deletes('deleter', 'a', {}))[0], 500);
  assert.deepEqual((await deletes('deleter', 'a', { body: { [option]: false } }))[0], 500);
});

test('who may do so removes it: by the verb, for one name, by every verb, as the administrator', async () => {
  assert.equal((await deletes('remover', 'a'))[0], 200);
  assert.equal((await deletes('named', 'b'))[0], 200);
  assert.equal((await deletes('root', 'c', {}, `?${option}=true`))[0], 200);
  assert.equal((await server.request('DELETE', `${configMaps}/d`, inBody)).status, 200);
  const { json } = await server.get<{ items: readonly { metadata: { name: string } }[] }>(configMaps);
  assert.ok(json.items.every(({ metadata }) => !/^[a-d]$/.test(metadata.name)));
});

const others = '/api/v1/namespaces/orch-public/configmaps';

test('who asks for what cannot be read is told which value it is', async () => {
  const lost = /^Internal error occurred: the value of \/core\/namespaces\/lost at \d+ cannot be read$/;
  for (const [path, message] of [
    [
      `${others}/longer`,
      /^Internal error occurred: the value of \/core\/configmaps\/orch-public\/longer at \d+ cannot be read$/,
    ],
    [others, /^Internal error occurred: the value of \/core\/configmaps\/orch-public\/longer at \d+ cannot be read$/],
    ['/api/v1/namespaces/lost', lost],
  ] as const) {
    const { status, json } = await server.get(path);
    assert.equal(status, 500, path);
    assert.match(String(json['message']), message);
  }
  const { status, json } = await server.post('/api/v1/namespaces/lost/configmaps', { metadata: { name: 'a' } });
  assert.equal(status, 500, 'the namespace is there');
  assert.match(String(json['message']), lost);
});

test('nothing is the matter with an absent object whose name begins that of a damaged one', async () => {
  assert.equal((await server.get(`${others}/long`)).status, 404);
});
