import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError, type ApiList } from '../../src/client/api-client.ts';
import { parseStored, stringifyJson } from '../../src/codec/json.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { setOwn } from '../../src/schema/own-property.ts';
import { addressDefinition, addressPath as at, webhookForSuite } from '../support/addresses.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Custom resources in several versions, whatever converts them. */

type Fields = Record<string, unknown>;

describe('versions of custom resources', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const converting = webhookForSuite();
  const send = async (method: 'POST' | 'PUT' | 'PATCH', target: string, object: unknown): Promise<ApiObject> => {
    const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
    const response = await suite.server.transportAs(root).send({
      ...{ method, target, headers: { 'content-type': type } },
      body: stringifyJson(object),
    });
    const answer = parseStored(await buffer(response.body));
    assert(response.status < 300, String((answer as Status).message));
    return answer as ApiObject;
  };
  const get = async (target: string): Promise<ApiObject> =>
    parseStored(await client().getBytes(target)) as unknown as ApiObject;

  describe('random objects survive', () => {
    const element = {
      type: 'object',
      properties: { id: { type: 'integer' }, text: { type: 'string' } },
      required: ['id'],
    };
    const content = {
      type: 'object',
      properties: {
        number: { type: 'integer', format: 'int64' },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        list: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'], items: element },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      },
    };
    const versions = ['v1', 'v1beta1', 'v2'] as const;
    /** Where the content is: the webhook moves it. */
    const fieldOf = (version: string, moves: boolean): string => (moves && version === 'v2' ? 'detail' : 'spec');
    const names = ['a', 'B-c', 'constructor', '__proto__', 'ü', 'toString', 'x y'];
    const seed = Number(process.env['ORCH_VERSIONS_SEED'] ?? 1);
    const random = seededRandom(seed);
    const draw = (below: number): number => (random.bytes(1)[0] as number) % below;
    const some = (): readonly string[] => names.filter(() => draw(2) === 0);
    const mapOf = (value: (name: string) => unknown): Fields => {
      const map: Fields = {};
      for (const name of some()) setOwn(map, name, value(name));
      return map;
    };
    const randomContent = (): Fields => ({
      number: draw(2) === 0 ? draw(100) : 9_007_199_254_740_993n + BigInt(draw(100)),
      map: mapOf((name) => `${name} ${draw(10)}`),
      open: mapOf(() => (draw(2) === 0 ? [draw(5), null, { x: true }] : { y: mapOf(() => draw(9)) })),
      list: [...new Set([draw(4), draw(4), draw(4)])].map((id) => ({ id, text: names[draw(names.length)] })),
      set: some(),
    });

    for (const strategy of ['None', 'Webhook'] as const) {
      it(`conversion by ${strategy}: created, updated and applied in any version, read in any`, async () => {
        const moves = strategy === 'Webhook';
        const group = `${strategy.toLowerCase()}.random.example.com`;
        converting.webhook.convert = ({ spec, detail, ...rest }, apiVersion) => {
          const moved = spec ?? detail;
          return {
            ...rest,
            ...(moved !== undefined && { [fieldOf(apiVersion.split('/')[1] as string, true)]: moved }),
          };
        };
        const conversion = moves ? converting.webhook.conversion() : { strategy };
        const defined = versions.map((name) =>
          versionOf({ [fieldOf(name, moves)]: content }, { name, storage: name === 'v1beta1' }),
        );
        await define(client(), addressDefinition(group, conversion, defined));
        const objectOf = (version: string, name: string, value: Fields, metadata: object = {}) => ({
          ...{ apiVersion: `${group}/${version}`, kind: 'Widget', metadata: { ...metadata, name } },
          [fieldOf(version, moves)]: value,
        });
        const readAll = async (name: string, value: Fields, what: string): Promise<void> => {
          for (const version of versions) {
            const seen = await get(at(group, version, name));
            assert.equal(seen.apiVersion, `${group}/${version}`);
            assert.deepEqual(seen[fieldOf(version, moves)], value, `seed ${seed}: ${what}, read in ${version}`);
          }
        };
        const anyVersion = (): string => versions[draw(versions.length)] as string;
        for (let round = 0; round < 15; round++) {
          const [written, applied] = [`written-${round}`, `applied-${round}`];
          let [version, value] = [anyVersion(), randomContent()];
          await send('POST', at(group, version), objectOf(version, written, value));
          await readAll(written, value, `created in ${version}`);
          for (let step = 0; step < 2; step++) {
            [version, value] = [anyVersion(), randomContent()];
            const { metadata } = await get(at(group, version, written));
            await send('PUT', at(group, version, written), objectOf(version, written, value, metadata));
            await readAll(written, value, `updated in ${version}`);
            [version, value] = [anyVersion(), randomContent()];
            await send('PATCH', `${at(group, version, applied)}?fieldManager=m`, objectOf(version, applied, value));
            await readAll(applied, inOrder(value, await get(at(group, 'v1', applied))), `applied in ${version}`);
          }
        }
      });
    }
  });

  /** An apply keeps the order that elements had: here only their content matters. */
  function inOrder(value: Fields, seen: ApiObject): Fields {
    const shown = seen['spec'] as {
      readonly list: readonly { readonly id: number }[];
      readonly set: readonly string[];
    };
    const byId = (id: number): number => shown.list.findIndex((each) => each.id === id);
    const { list, set } = value as { list: { id: number }[]; set: string[] };
    return {
      ...value,
      list: list.toSorted((a, b) => byId(a.id) - byId(b.id)),
      set: set.toSorted((a, b) => shown.set.indexOf(a) - shown.set.indexOf(b)),
    };
  }

  const text = { text: { type: 'string' } };
  const widget = (group: string, version: string, name: string) => ({
    ...{ apiVersion: `${group}/${version}`, kind: 'Widget', metadata: { name }, text: name },
  });

  it('lists and watches show objects that are stored in several versions in the one that is asked for', async () => {
    const group = 'mixed.example.com';
    const versions = (storage: string) =>
      ['v1', 'v2', 'v3'].map((name) => versionOf(text, { name, storage: name === storage }));
    await define(client(), definitionOf({ group, versions: versions('v1') }));
    await client().create(at(group, 'v1'), widget(group, 'v1', 'a'));
    for (const [index, storage] of ['v2', 'v3'].entries()) {
      await client().mergePatch(definitionPath(`widgets.${group}`), { spec: { versions: versions(storage) } });
      await until(() => suite.server.resources.find(group, 'v1', 'widgets')?.resource.kind.version === storage);
      await client().create(at(group, 'v1'), widget(group, 'v1', 'bc'.charAt(index)));
    }
    for (const version of ['v1', 'v2', 'v3']) {
      const { items } = await client().get<ApiList>(at(group, version));
      const shown = items.map(({ apiVersion, metadata, ...rest }) => [
        apiVersion,
        metadata.name,
        (rest as Fields)['text'],
      ]);
      const apiVersion = `${group}/${version}`;
      assert.deepEqual(shown, [
        [apiVersion, 'a', 'a'],
        [apiVersion, 'b', 'b'],
        [apiVersion, 'c', 'c'],
      ]);
      const stop = new AbortController();
      const seen: unknown[] = [];
      for await (const { object } of client().watch(`${at(group, version)}?watch=1`, { signal: stop.signal })) {
        seen.push((object as ApiObject).apiVersion);
        if (seen.length === 3) break;
      }
      stop.abort();
      assert.deepEqual(seen, [apiVersion, apiVersion, apiVersion]);
    }
  });

  it('a version that is not served is 404, and its objects are read in the others', async () => {
    const group = 'unserved.example.com';
    const versions = (served: boolean) => [
      versionOf(text, { served }),
      versionOf(text, { name: 'v2', storage: false }),
    ];
    await define(client(), definitionOf({ group, versions: versions(true) }));
    await client().create(at(group, 'v1'), widget(group, 'v1', 'a'));
    await client().mergePatch(definitionPath(`widgets.${group}`), { spec: { versions: versions(false) } });
    await until(() => suite.server.resources.find(group, 'v1', 'widgets') === undefined);
    await assert.rejects(
      client().get(at(group, 'v1', 'a')),
      (error) => error instanceof ApiError && error.code === 404,
    );
    assert.equal((await client().get(at(group, 'v2', 'a'))).apiVersion, `${group}/v2`);
    await client().create(at(group, 'v2'), widget(group, 'v2', 'b'));
    assert.equal((await client().mergePatch<ApiObject>(at(group, 'v2', 'a'), { text: 'x' }))['text'], 'x');
    await client().delete(at(group, 'v2'));
    assert.deepEqual((await client().get<ApiList>(at(group, 'v2'))).items, []);
  });

  it('discovery has the most stable version first', async () => {
    const group = 'ordered.example.com';
    const names = ['v3beta1', 'v1', 'foo1', 'v10', 'v2', 'v11alpha2', 'v12alpha1', 'v11beta2', 'foo10'];
    const versions = names.map((name) => versionOf(text, { name, storage: name === 'v1' }));
    await define(client(), definitionOf({ group, versions }));
    const found = await client().get<ApiObject & { versions: { version: string }[] }>(`/apis/${group}`);
    const expected = ['v10', 'v2', 'v1', 'v11beta2', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10'];
    assert.deepEqual(
      found.versions.map(({ version }) => version),
      expected,
    );
  });
});
