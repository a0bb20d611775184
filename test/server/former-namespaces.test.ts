import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, make, rule, user } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** History does not show what a namespace held before it was the one that it is. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const secrets = '/api/v1/namespaces/team/secrets';
const tenant = as('tenant');

interface List {
  readonly reason?: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const namesOf = ({ items }: List): readonly string[] => items.map(({ metadata }) => metadata.name);
const versionOf = (object: Record<string, unknown>): string =>
  (object['metadata'] as { resourceVersion: string }).resourceVersion;

/** Versions: while the former namespace held secrets, when it was empty and still there, and when there was none. */
const past = { full: '', none: '' };
/** Of the namespace that is there now. */
let labelled = '';
let token = '';

before(async () => {
  server = held.use(await OrchProcess.start({ flags: [folder.tokens({ tenant: [] })] }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  await make(server, secrets, { metadata: { name: 'former-1' } });
  past.full = versionOf(await make(server, secrets, { metadata: { name: 'former-2' } }));
  token = (await server.get<List>(`${secrets}?limit=1`)).json.metadata.continue ?? '';
  await server.delete('/api/v1/namespaces/team');
  await until(async () => (await server.get('/api/v1/namespaces/team')).status === 404, 'the namespace stays');
  past.none = versionOf(await make(server, '/api/v1/namespaces/default/secrets', { metadata: { name: 'between' } }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  labelled = versionOf(await make(server, secrets, { metadata: { name: 'present' } }));
  await server.request('PATCH', '/api/v1/namespaces/team', {
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  await grant(server, 'tenant', [rule('get list watch deletecollection', 'secrets')], [user('tenant')], 'team');
});
after(() => held.disposeAsync());

/** The same from the states that the cache keeps, and, after a restart, from the store. */
for (const from of ['the cache', 'the store'] as const) {
  describe(`from ${from}`, () => {
    before(async () => {
      if (from === 'the cache') return;
      await server.stop();
      await server.restart();
    });

    for (const [what, version] of [
      ['while the former namespace held them', () => past.full],
      ['while there was none', () => past.none],
    ] as const) {
      const exact = (): string => `resourceVersion=${version()}&resourceVersionMatch=Exact`;

      test(`a list as of ${what}: 410`, async () => {
        const forged = Buffer.from(
          JSON.stringify({ v: 1, rv: Number(version()), of: '/core/secrets/team/', after: 'a' }),
        ).toString('base64url');
        for (const query of [exact(), `limit=5&resourceVersion=${version()}`, `continue=${forged}`]) {
          const { status, json, text } = await server.get<List>(`${secrets}?${query}`, { as: tenant });
          assert.deepEqual([status, json.reason], [410, 'Expired'], `${query}: ${text}`);
        }
      });

      test(`a deletion of what was there ${what}: 410`, async () => {
        const { status } = await server.request('DELETE', `${secrets}?${exact()}`, { as: tenant });
        assert.equal(status, 410);
        assert.ok(namesOf((await server.get<List>(secrets)).json).includes('present'));
      });

      for (const query of ['', '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan']) {
        test(`a watch${query} from ${what}: 410 on the stream`, async () => {
          const watch = server.watch(`${secrets}?watch=1&resourceVersion=${version()}${query}`, tenant);
          await until(() => watch.ended, 'the watch goes on');
          assert.equal(watch.status, 200);
          assert.deepEqual(
            watch.events.map(({ type, object }) => [type, object.code]),
            [['ERROR', 410]],
          );
        });
      }

      test(`a list not older than ${what} shows what is there now`, async () => {
        const query = `resourceVersion=${version()}&resourceVersionMatch=NotOlderThan`;
        const { status, json } = await server.get<List>(`${secrets}?${query}`, { as: tenant });
        assert.equal(status, 200);
        assert.deepEqual(namesOf(json), ['present']);
      });
    }

    test('a token of a list of the former namespace: 410', async () => {
      const { status, json } = await server.get<List>(`${secrets}?limit=1&continue=${token}`, { as: tenant });
      assert.deepEqual([status, json.reason], [410, 'Expired']);
    });

    test('the history of the namespace itself is there, also from before it was last changed', async () => {
      const query = `resourceVersion=${labelled}&resourceVersionMatch=Exact`;
      const { status, json } = await server.get<List>(`${secrets}?${query}`, { as: tenant });
      assert.deepEqual([status, namesOf(json)], [200, ['present']]);
      const watch = server.watch(`${secrets}?watch=1&resourceVersion=${labelled}&timeoutSeconds=1`, tenant);
      await until(() => watch.ended, 'the watch goes on');
      assert.ok(watch.complete);
      assert.deepEqual(watch.events, []);
    });

    test('who may read all namespaces reads them as they were', async () => {
      const query = `resourceVersion=${past.full}&resourceVersionMatch=Exact`;
      const { status, json } = await server.get<List>(`/api/v1/secrets?${query}`);
      assert.equal(status, 200);
      assert.deepEqual(
        namesOf(json).filter((name) => /former|present/.test(name)),
        ['former-1', 'former-2'],
      );
    });
  });
}

test('of a namespace that is gone, and not there again, history is shown', async () => {
  await make(server, '/api/v1/namespaces', { metadata: { name: 'gone' } });
  const at = versionOf(await make(server, '/api/v1/namespaces/gone/secrets', { metadata: { name: 's' } }));
  await server.delete('/api/v1/namespaces/gone');
  await until(async () => (await server.get('/api/v1/namespaces/gone')).status === 404, 'the namespace stays');
  const query = `resourceVersion=${at}&resourceVersionMatch=Exact`;
  const { status, json } = await server.get<List>(`/api/v1/namespaces/gone/secrets?${query}`);
  assert.deepEqual([status, namesOf(json)], [200, ['s']]);
});
