import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient, ApiList } from '../../src/client/api-client.ts';
import { ApiError } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.code === code;

/** Objects of kinds that come at run time (KEP-95), as clients of a server see them. */
describe('custom resources', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const at = (group: string, name?: string): string =>
    resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });
  const widget = (group: string, name: string, rest: Readonly<Record<string, unknown>> = {}) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    ...rest,
  });

  it('are served as soon as their definition is established', async () => {
    const group = 'served.example.com';
    const integer = { type: 'integer', default: 3 };
    const spec = { type: 'object', properties: { size: integer } };
    await define(client(), definitionOf({ group, properties: { spec } }));
    const created = await client().create<ApiObject>(at(group), widget(group, 'one', { spec: { other: 'pruned' } }));
    assert.deepEqual(created['spec'], { size: 3 });
    assert.equal(created.metadata.generation, 1);
    const { items } = await client().get<ApiList>(at(group));
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['one'],
    );
  });

  it('are not served under names that another definition has', async () => {
    const group = 'taken.example.com';
    await define(client(), definitionOf({ group }));
    const other = definitionOf({ group, kind: 'Gadget' });
    const named = { ...other, spec: { ...other.spec, names: { ...other.spec.names, kind: 'Widget' } } };
    await client().create(definitionPath(), named);
    await assert.rejects(client().get(resourcePath({ apiVersion: `${group}/v1`, resource: 'gadgets' })), hasCode(404));
  });

  it('go with their definition', async () => {
    const group = 'leaves.example.com';
    const definition = definitionOf({ group });
    const path = definitionPath(definition.metadata.name);
    await define(client(), definition);
    const held = { ...widget(group, 'held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    await client().create(at(group), widget(group, 'free'));
    await client().create(at(group), held);
    await client().delete(path);
    const { metadata, status } = await client().get<ApiObject & Definition>(path);
    assert.deepEqual(metadata.finalizers, ['customresourcecleanup.apiextensions.orch.io']);
    assert.equal(status?.conditions?.find(({ type }) => type === 'Terminating')?.status, 'True');
    await assert.rejects(client().create(at(group), widget(group, 'late')), hasCode(405));
    await until(async () => (await client().get<ApiList>(at(group))).items.length === 1);
    await client().mergePatch(at(group, 'held'), { metadata: { finalizers: null } });
    const isGone = (target: string) =>
      client()
        .get(target)
        .then(() => false, hasCode(404));
    await until(() => isGone(path));
    await until(() => isGone(at(group)));
    await define(client(), definition);
    assert.deepEqual((await client().get<ApiList>(at(group))).items, []);
  });

  it('are seen to go by watches, which then end', async () => {
    const group = 'watched-to-the-end.example.com';
    const definition = definitionOf({ group });
    await define(client(), definition);
    const names = Array.from({ length: 40 }, (_, index) => `w${index}`);
    for (const name of names) await client().create(at(group), widget(group, name));
    const { metadata } = await client().get<ApiList>(at(group));
    const watch = client().watch(`${at(group)}?watch=1&resourceVersion=${metadata.resourceVersion}`, {
      signal: AbortSignal.timeout(60_000),
    });
    const gone: unknown[] = [];
    const watching = (async () => {
      for await (const { type, object } of watch) if (type === 'DELETED') gone.push(object.metadata.name);
    })();
    await client().delete(definitionPath(definition.metadata.name));
    await watching;
    assert.deepEqual(gone.toSorted(), names.toSorted());
  });

  describe('in several versions', () => {
    const one = { a: { type: 'string' }, b: { type: 'string', default: 'first' } };
    const two = { a: { type: 'string' }, c: { type: 'string', default: 'second' } };
    const both = (storage: 'v1' | 'v2', second: Readonly<Record<string, unknown>> = one) => [
      versionOf(one, { storage: storage === 'v1' }),
      versionOf(second, { name: 'v2', storage: storage === 'v2' }),
    ];
    const inVersion = (group: string, version: string, name?: string): string =>
      resourcePath({ apiVersion: `${group}/${version}`, resource: 'widgets', namespace: 'default', name });
    const fieldsOf = ({ a, b, c }: ApiObject) => ({ a, b, c });
    /** Resolves when objects are stored in the version. */
    const storeIn = async (group: string, version: 'v1' | 'v2'): Promise<void> => {
      await client().mergePatch(definitionPath(`widgets.${group}`), { spec: { versions: both(version) } });
      await until(() => suite.server.resources.find(group, 'v1', 'widgets')?.resource.kind.version === version);
    };

    it('each is pruned and gets its defaults by the schema of the version that is asked for', async () => {
      const group = 'versions.example.com';
      await define(client(), definitionOf({ group, versions: both('v1', two) }));
      const sent = { ...widget(group, 'one', { a: 'x', c: 'unknown here' }) };
      assert.deepEqual(fieldsOf(await client().create(inVersion(group, 'v1'), sent)), {
        a: 'x',
        b: 'first',
        c: undefined,
      });
      const seen = await client().get(inVersion(group, 'v2', 'one'));
      assert.equal(seen.apiVersion, `${group}/v2`);
      assert.deepEqual(fieldsOf(seen), { a: 'x', b: undefined, c: undefined });
      const written = await client().update<ApiObject>(inVersion(group, 'v2', 'one'), { ...seen, c: 'y' });
      assert.deepEqual(fieldsOf(written), { a: 'x', b: undefined, c: 'y' });
      assert.deepEqual(fieldsOf(await client().get(inVersion(group, 'v1', 'one'))), {
        a: 'x',
        b: 'first',
        c: undefined,
      });
    });

    it('objects stay in the version in which they were stored until they are written', async () => {
      const group = 'moves.example.com';
      await define(client(), definitionOf({ group, versions: both('v1') }));
      await client().create(inVersion(group, 'v1'), widget(group, 'one', { a: 'x' }));
      await storeIn(group, 'v2');
      const before = await client().get(inVersion(group, 'v1', 'one'));
      assert.equal(before['b'], 'first');
      const same = await client().update<ApiObject>(inVersion(group, 'v1', 'one'), before);
      assert.notEqual(same.metadata.resourceVersion, before.metadata.resourceVersion, 'it was stored anew');
      const again = await client().update<ApiObject>(inVersion(group, 'v1', 'one'), same);
      assert.equal(again.metadata.resourceVersion, same.metadata.resourceVersion);
    });

    it('watches go on when a definition changes', async () => {
      const group = 'watched.example.com';
      await define(client(), definitionOf({ group, versions: both('v1') }));
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { object } of client().watch(`${inVersion(group, 'v1')}?watch=1`, { signal: stop.signal })) {
          const { metadata, apiVersion } = object as ApiObject;
          seen.push(`${metadata.name} ${apiVersion}`);
        }
      })();
      await client().create(inVersion(group, 'v1'), widget(group, 'one'));
      await until(() => seen.length === 1);
      await storeIn(group, 'v2');
      await client().create(inVersion(group, 'v2'), { ...widget(group, 'two'), apiVersion: `${group}/v2` });
      await until(() => seen.length === 2);
      assert.deepEqual(seen, [`one ${group}/v1`, `two ${group}/v1`]);
      stop.abort();
      await watching.catch(() => {});
    });
  });
});
