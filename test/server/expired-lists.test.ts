import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { decodeMessage } from '../../src/codec/protobuf/decode.ts';
import { openEnvelope } from '../../src/codec/protobuf/envelope.ts';
import { status as statusSchema } from '../../src/kinds/meta/status.ts';
import { openStore } from '../../src/store/open.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Lists in chunks whose version is gone: the client is told how to get the rest, at another one. */

let server: OrchProcess;
after(() => server[Symbol.asyncDispose]());

interface List {
  readonly kind: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const label = 'labelSelector=of%3Dtest';
const places: Readonly<Record<string, { readonly path: string; readonly query: string }>> = {
  'a namespace': { path: configMaps, query: `?${label}&limit=2` },
  'all namespaces': { path: '/api/v1/configmaps', query: `?${label}&limit=2` },
  'a cluster-scoped kind': { path: '/api/v1/nodes', query: '?limit=2' },
};
const tokens = new Map<string, string>();

const message =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const collections = [configMaps, '/api/v1/nodes'];
const labelled = (name: string) => ({ metadata: { name, labels: { of: 'test' } } });

before(async () => {
  server = await OrchProcess.start();
  for (const path of collections) {
    for (const name of ['a', 'b', 'd', 'e', 'f', 'g']) {
      assert.equal((await server.post(path, labelled(name))).status, 201);
    }
  }
  for (const [what, { path, query }] of Object.entries(places)) {
    const { json } = await server.get<List>(`${path}${query}`);
    assert.deepEqual(namesOf(json), ['a', 'b']);
    tokens.set(what, json.metadata.continue ?? '');
  }
  for (const path of collections) {
    for (const name of ['aa', 'c']) assert.equal((await server.post(path, labelled(name))).status, 201);
    await server.delete(`${path}/e`);
  }
  assert.equal(await server.stop(), 0);
  const store = await openStore({ backend: 'sqlite', file: join(server.dataDir, 'orch.db'), logger: silentLogger });
  await store.compact(await store.head());
  await store.close();
  await server.restart();
});

const namesOf = ({ items }: List): readonly string[] => items.map(({ metadata }) => metadata.name);

for (const [what, { path, query }] of Object.entries(places)) {
  describe(`a list of ${what} whose version is gone`, () => {
    const old = (): string => `${path}${query}&continue=${tokens.get(what)}`;

    test('is 410, with a token and what it is good for', async () => {
      const { status, json } = await server.get<List>(old());
      assert.deepEqual(
        [status, json.kind, json.code, json.reason, json.message],
        [410, 'Status', 410, 'Expired', message],
      );
      assert.match(json.metadata.continue ?? '', /^[\w-]+$/);
      assert.notEqual(json.metadata.continue, tokens.get(what));
    });

    test('goes on with that token after what was shown, as things are now', async () => {
      let token = (await server.get<List>(old())).json.metadata.continue ?? '';
      const names: string[] = [];
      const versions = new Set<string | undefined>();
      for (let page = 0; token !== ''; page++) {
        assert.ok(page < 5);
        const { status, json, text } = await server.get<List>(`${path}${query}&continue=${token}`);
        assert.equal(status, 200, text);
        names.push(...namesOf(json));
        versions.add(json.metadata.resourceVersion);
        token = json.metadata.continue ?? '';
      }
      assert.deepEqual(names, ['c', 'd', 'f', 'g'], 'what is new, without what is gone');
      assert.equal(versions.size, 1, 'one version from there on');
    });

    test('says so in YAML and protobuf', async () => {
      const { json } = await server.get<List>(old());
      const yaml = await server.get(old(), { headers: { accept: 'application/yaml' } });
      assert.equal(yaml.status, 410);
      assert.ok(yaml.text.includes(`continue: ${json.metadata.continue}`), yaml.text);
      const binary = await server.get(old(), { headers: { accept: 'application/vnd.orch.protobuf' } });
      const value = decodeMessage(statusSchema, openEnvelope(binary.bytes).raw);
      assert.equal((value as unknown as List).metadata.continue, json.metadata.continue);
    });

    test('gives nothing of another list', async () => {
      const token = (await server.get<List>(old())).json.metadata.continue;
      const { status } = await server.get(`/api/v1/namespaces/default/secrets?limit=2&continue=${token}`);
      assert.equal(status, 400);
    });
  });
}

test('a token that leads on at the newest version goes with no resourceVersion', async () => {
  const token = (await server.get<List>(`${configMaps}?limit=2&continue=${tokens.get('a namespace')}`)).json.metadata
    .continue;
  assert.equal((await server.get(`${configMaps}?limit=2&continue=${token}&resourceVersion=5`)).status, 400);
});

test('a list of a version that is gone, and no chunk, has no token', async () => {
  const { status, json } = await server.get<List>(`${configMaps}?resourceVersion=5&resourceVersionMatch=Exact`);
  assert.deepEqual([status, json.reason, json.metadata], [410, 'Expired', {}]);
});

test('a deletion that goes on with the old token deletes nothing, and with the new one the rest', async () => {
  const path = `${configMaps}?${label}&limit=2`;
  const { status, json } = await server.delete<List>(`${path}&continue=${tokens.get('a namespace')}`);
  assert.deepEqual([status, json.message], [410, message]);
  assert.equal((await server.get<List>(`${configMaps}?${label}`)).json.items.length, 7);
  assert.equal((await server.delete(`${path}&continue=${json.metadata.continue}`)).status, 200);
  const left = namesOf((await server.get<List>(`${configMaps}?${label}`)).json);
  assert.deepEqual(left, ['a', 'aa', 'b', 'f', 'g']);
});
