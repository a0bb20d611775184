import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError, type ApiList } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { ApiServer } from '../../src/server/wiring/create-api-server.ts';
import { StoreError } from '../../src/store/store.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root } from '../support/in-process-server.ts';
import { SharedStore } from '../support/shared-store.ts';

const clientOf = (server: Pick<ApiServer, 'clientAs'>): ApiClient => server.clientAs(root, 'test');

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.code === code;

const isGone = (client: ApiClient, path: string): Promise<boolean> => client.get(path).then(() => false, hasCode(404));

const widgets = (group: string, name?: string): string =>
  resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });

const widget = (group: string, name: string, rest: Readonly<Record<string, unknown>> = {}) => ({
  ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
  ...rest,
});

type Conditioned = ApiObject & Definition;

const conditionOf = ({ status }: Definition, type: string) => status?.conditions?.find((each) => each.type === type);

async function conditionAt(client: ApiClient, name: string, type: string) {
  return conditionOf(await client.get<Conditioned>(definitionPath(name)), type);
}

describe('definitions of custom resources', () => {
  it('are served when a server becomes ready that finds them', async () => {
    await using shared = new SharedStore();
    const first = await shared.start();
    const groups = Array.from({ length: 70 }, (_, at) => `g${at}.example.com`);
    for (const group of groups) await define(clientOf(first), definitionOf({ group }));
    await clientOf(first).create(widgets('g7.example.com'), widget('g7.example.com', 'one'));
    await shared.stop(first);
    const client = clientOf(await shared.start());
    for (const group of groups) {
      const { items } = await client.get<ApiList>(widgets(group));
      assert.equal(items.length, group === 'g7.example.com' ? 1 : 0, group);
    }
  });

  it('that were being deleted when the server stopped are removed by the next one', async () => {
    await using shared = new SharedStore();
    const first = await shared.start();
    const group = 'stopped.example.com';
    const definition = definitionOf({ group });
    await define(clientOf(first), definition);
    const held = { ...widget(group, 'held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    await clientOf(first).create(widgets(group), held);
    await clientOf(first).delete(definitionPath(definition.metadata.name));
    await shared.stop(first);
    const client = clientOf(await shared.start());
    await assert.rejects(client.create(widgets(group), widget(group, 'late')), hasCode(405));
    await client.mergePatch(widgets(group, 'held'), { metadata: { finalizers: null } });
    await until(() => isGone(client, definitionPath(definition.metadata.name)));
    await until(() => isGone(client, widgets(group)));
  });

  it('are served by all servers of a store, which agree on names', async () => {
    await using shared = new SharedStore();
    const [one, other] = [clientOf(await shared.start()), clientOf(await shared.start())];
    const group = 'two.example.com';
    await define(one, definitionOf({ group }));
    await until(async () => !(await isGone(other, widgets(group))));
    await other.create(widgets(group), widget(group, 'from-other'));
    assert.equal((await one.get<ApiList>(widgets(group))).items.length, 1);

    const rivals = ['Rival', 'Other'].map((kind) => definitionOf({ group, kind }));
    const wanting = rivals.map((each) => ({
      ...each,
      spec: { ...each.spec, names: { ...each.spec.names, shortNames: ['rv'] } },
    }));
    await Promise.all(wanting.map((each, at) => (at === 0 ? one : other).create(definitionPath(), each)));
    const accepted = async () => {
      const found = rivals.map(({ metadata }) => conditionAt(one, metadata.name, 'NamesAccepted'));
      return (await Promise.all(found)).map((condition) => condition?.status);
    };
    await until(async () => (await accepted()).every((status) => status !== undefined));
    assert.deepEqual((await accepted()).toSorted(), ['False', 'True']);

    await other.delete(definitionPath(`widgets.${group}`));
    for (const client of [one, other]) await until(() => isGone(client, widgets(group)));
  });

  describe('give free names to the next in order of creation', () => {
    const ways = {
      'when one is deleted': (client: ApiClient, path: string) => client.delete(path),
      'when one changes its names': (client: ApiClient, path: string) =>
        client.mergePatch(path, { spec: { names: { shortNames: null } } }),
    };
    for (const [way, free] of Object.entries(ways)) {
      it(way, async () => {
        await using shared = new SharedStore();
        const client = clientOf(await shared.start());
        // Created in an order that is not that of their names.
        const definitions = ['Zebra', 'Yak', 'Ant'].map((kind) => {
          const definition = definitionOf({ group: 'names.example.com', kind });
          const { spec } = definition;
          return { ...definition, spec: { ...spec, names: { ...spec.names, shortNames: ['x'] } } };
        });
        for (const definition of definitions) await client.create(definitionPath(), definition);
        const [first, second, third] = definitions.map(({ metadata }) => metadata.name);
        const shortNames = async (name = '') =>
          (await client.get<Conditioned>(definitionPath(name))).status?.acceptedNames?.shortNames ?? [];
        await until(async () => (await conditionAt(client, third ?? '', 'NamesAccepted'))?.status === 'False');
        await until(async () => (await shortNames(first))[0] === 'x');
        await free(client, definitionPath(first));
        await until(async () => (await shortNames(second))[0] === 'x');
        assert.deepEqual(await shortNames(third), []);
        assert.equal((await conditionAt(client, third ?? '', 'NamesAccepted'))?.reason, 'ShortNamesConflict');
      });
    }
  });

  it('get their status although its first write fails', async () => {
    await using shared = new SharedStore();
    const client = clientOf(await shared.start());
    let failed = 0;
    shared.intercept = (method, [key]) => {
      if (method !== 'update' || !String(key).includes('customresourcedefinitions') || failed++ > 0) return undefined;
      return Promise.reject(new StoreError('unavailable', 'the test says so'));
    };
    await define(client, definitionOf({ group: 'failing.example.com' }));
    assert.ok(failed > 1);
  });

  it('that come back under their name are other ones', async () => {
    await using shared = new SharedStore();
    const client = clientOf(await shared.start());
    const group = 'again.example.com';
    const path = definitionPath(`widgets.${group}`);
    const schemas = [{ a: { type: 'string' } }, { b: { type: 'string' } }];
    for (const properties of [...schemas, ...schemas]) {
      await define(client, definitionOf({ group, properties }));
      const { a, b } = await client.create<ApiObject>(widgets(group), widget(group, 'one', { a: 'x', b: 'x' }));
      assert.deepEqual({ a, b }, { a: undefined, b: undefined, ...('a' in properties ? { a: 'x' } : { b: 'x' }) });
      const ended = (async () => {
        for await (const _ of client.watch(`${widgets(group)}?watch=1`, { signal: new AbortController().signal }));
      })();
      await client.delete(path);
      await until(() => isGone(client, path));
      await within(ended, 'the watch of a removed kind does not end');
    }
    await define(client, definitionOf({ group, scope: 'Cluster' }));
    await client.create(resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets' }), widget(group, 'one'));
  });

  it('show in each document as soon as they are established, and with each change', async () => {
    await using shared = new SharedStore();
    const client = clientOf(await shared.start());
    const group = 'documents.example.com';
    const index = async () =>
      (
        await client.get<{ readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>> }>(
          '/openapi/v3',
        )
      ).paths[`apis/${group}/v1`]?.serverRelativeURL;
    const documents = ['/apis', '/openapi/v2', '/openapi/v3'];
    const showing = async (text: string, paths: readonly string[]) => {
      const found = await Promise.all(paths.map(async (path) => JSON.stringify(await client.get(path)).includes(text)));
      return paths.filter((_, at) => found[at]);
    };
    assert.deepEqual(await showing(group, documents), []);
    await define(
      client,
      definitionOf({ group, properties: { first: { type: 'string', description: 'of the first' } } }),
    );
    const ofGroup = [`/apis/${group}`, `/apis/${group}/v1`, `/openapi/v3/apis/${group}/v1`];
    const all = [...documents, ...ofGroup];
    assert.deepEqual(await showing(group, all), all);
    const schemas = ['/openapi/v2', `/openapi/v3/apis/${group}/v1`];
    assert.deepEqual(await showing('of the first', schemas), schemas);
    const before = await index();
    const properties = { second: { type: 'string', description: 'of the second' } };
    const path = definitionPath(`widgets.${group}`);
    await client.mergePatch(path, { spec: { versions: [versionOf(properties)] } });
    await until(async () => (await showing('of the second', schemas)).length === schemas.length);
    assert.notEqual(await index(), before, 'clients keep documents by this URL');
    await client.delete(path);
    await until(() => isGone(client, path));
    await until(async () => (await showing(group, documents)).length === 0);
  });

  describe('that are deleted', () => {
    it('say how far the deletion of their objects is, and show what can still be done', async () => {
      await using shared = new SharedStore();
      const client = clientOf(await shared.start());
      const group = 'ending.example.com';
      const path = definitionPath(`widgets.${group}`);
      await define(client, definitionOf({ group }));
      const held = { ...widget(group, 'held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
      await client.create(widgets(group), held);
      const stop = new AbortController();
      const reasons = new Set<string | undefined>();
      const watching = (async () => {
        for await (const { type, object } of client.watch(`${definitionPath()}?watch=1`, { signal: stop.signal })) {
          reasons.add(conditionOf(object as Conditioned, 'Terminating')?.reason);
          if (type === 'DELETED') return;
        }
      })();
      await client.delete(path);
      await until(
        async () =>
          (await conditionAt(client, `widgets.${group}`, 'Terminating'))?.reason !== 'InstanceDeletionPending',
      );
      await assert.rejects(client.create(widgets(group), widget(group, 'late')), {
        code: 405,
        message: /create not allowed while custom resource definition is terminating/,
      });
      const { resources } = await client.get<{ readonly resources: readonly { readonly verbs: readonly string[] }[] }>(
        `/apis/${group}/v1`,
      );
      assert.deepEqual(resources[0]?.verbs, ['delete', 'deletecollection', 'get', 'list', 'watch']);
      await client.mergePatch(widgets(group, 'held'), { metadata: { finalizers: null } });
      await within(watching, 'the definition is not deleted');
      stop.abort();
      assert.deepEqual(
        [...reasons].filter((reason) => reason !== undefined),
        ['InstanceDeletionPending', 'InstanceDeletionInProgress', 'InstanceDeletionCompleted'],
      );
    });

    it('without ever having been established say so', async () => {
      await using shared = new SharedStore();
      const client = clientOf(await shared.start());
      const group = 'never.example.com';
      await define(client, definitionOf({ group }));
      const rival = definitionOf({ group, kind: 'Rival' });
      const named = { ...rival, spec: { ...rival.spec, names: { ...rival.spec.names, kind: 'Widget' } } };
      await client.create(definitionPath(), named);
      const reasons: (string | undefined)[] = [];
      const watching = (async () => {
        for await (const { type, object } of client.watch(`${definitionPath()}?watch=1`, {
          signal: new AbortController().signal,
        })) {
          const { metadata, ...rest } = object as Conditioned;
          if (metadata.name === rival.metadata.name) reasons.push(conditionOf(rest, 'Terminating')?.reason);
          if (type === 'DELETED') return;
        }
      })();
      await client.delete(definitionPath(rival.metadata.name));
      await within(watching, 'the definition is not deleted');
      assert.equal(reasons.at(-1), 'NeverEstablished');
    });

    it('stay until watches that are slow know what happened to their objects', async () => {
      await using shared = new SharedStore();
      const client = clientOf(await shared.start());
      const [group, other] = ['slow.example.com', 'other.example.com'];
      for (const each of [group, other]) {
        await define(client, definitionOf({ group: each }));
        await client.create(widgets(each), widget(each, 'first', { spec: {} }));
      }
      const annotations = { padding: 'x'.repeat(2_000) };
      const count = 2 * limits.watcherBufferEventsMax + 500;
      const create = (at: number) =>
        client.create(widgets(group), { ...widget(group, ''), metadata: { name: `w${at}`, annotations } });
      for (let from = 0; from < count; from += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, offset) => create(from + offset)));
      }
      const { metadata } = await client.get<ApiList>(widgets(group));
      const { signal } = new AbortController();
      const query = `watch=1&timeoutSeconds=300&resourceVersion=${metadata.resourceVersion}`;
      const events = client.watch(`${widgets(group)}?${query}`, { signal });
      const opened = events.next();
      await client.mergePatch(widgets(group, 'first'), { metadata: { labels: { a: 'b' } } });
      await opened;
      const path = definitionPath(`widgets.${group}`);
      await client.delete(path);
      const reasonOf = async () => (await conditionAt(client, `widgets.${group}`, 'Terminating'))?.reason;
      await until(async () => (await reasonOf()) === 'InstanceDeletionCompleted');
      // One that began later, and that nobody watches slowly, goes before.
      await client.delete(definitionPath(`widgets.${other}`));
      await until(() => isGone(client, definitionPath(`widgets.${other}`)));
      assert.equal(await isGone(client, path), false);
      const gone = new Set<string>();
      for await (const { type, object } of events)
        if (type === 'DELETED') gone.add((object as ApiObject).metadata.name ?? '');
      assert.equal(gone.size, count + 1, 'deletions that the watch was told of before it ended');
      await until(() => isGone(client, path));
    });

    it('remove objects that clients are not served', async () => {
      await using shared = new SharedStore();
      const server = await shared.start();
      const client = clientOf(server);
      const group = 'unserved.example.com';
      const definition = definitionOf({ group });
      const path = definitionPath(definition.metadata.name);
      await define(client, definition);
      await client.create(widgets(group), widget(group, 'one'));
      await client.mergePatch(path, { spec: { versions: [versionOf({}, { served: false })] } });
      await until(() => isGone(client, widgets(group)));
      await client.delete(path);
      await until(() => isGone(client, path));
      await define(client, definition);
      assert.deepEqual((await client.get<ApiList>(widgets(group))).items, []);
    });
  });

  it('of a scope that closes while they are loaded leave nothing behind', async () => {
    await using shared = new SharedStore();
    const server = await shared.start();
    const group = 'closed.example.com';
    const first = await server.openScope('s');
    await define(clientOf(first), definitionOf({ group }));
    await clientOf(first).create(widgets(group), widget(group, 'one'));
    first.close();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    shared.intercept = (method, [prefix]) =>
      method === 'list' && JSON.stringify(prefix).includes(group) && reads++ === 0 ? held : undefined;
    const opening = server.openScope('s');
    await until(() => reads > 0);
    const stopping = shared.stop(server);
    release();
    await opening.then(
      (scope) => scope.close(),
      () => {},
    );
    await within(stopping, 'the server does not stop');
    const again = await (await shared.start()).openScope('s');
    assert.equal((await clientOf(again).get<ApiList>(widgets(group))).items.length, 1);
    again.close();
  });
});
