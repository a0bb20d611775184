import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { Definition, DefinitionCondition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import { ConversionWebhook } from '../support/conversion-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess, type WatchClient } from '../support/orch-process.ts';

/** Two servers on one etcd serve the same kinds, whichever of them is told of a definition. */

const group = 'farm.example';
const name = `widgets.${group}`;
const path = `/apis/${group}/v1/namespaces/default/widgets`;

interface Item {
  readonly apiVersion: string;
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly generation?: number };
  readonly spec?: unknown;
}
type StoredDefinition = Definition & Item;

const shown = ({ events }: WatchClient): readonly string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.code}`);

const isEstablished = ({ status }: Definition): boolean => conditionOf(status?.conditions, 'Established') === 'True';
/** Conditions are null until a server has decided on them. */
const conditionOf = (conditions: readonly DefinitionCondition[] | null | undefined, type: string): string | undefined =>
  conditions?.find((each) => each.type === type)?.status;

const size = (type: string, more = {}): Readonly<Record<string, unknown>> => ({
  spec: { type: 'object', properties: { size: { type, ...more } } },
});
const widget = (called: string, sized: unknown, version = 'v1'): object => ({
  apiVersion: `${group}/${version}`,
  kind: 'Widget',
  metadata: { name: called },
  spec: { size: sized },
});

async function send<T = Item>(server: OrchProcess, method: string, target: string, body?: unknown): Promise<T> {
  const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : undefined;
  const answer = await server.request<T>(method, target, { body, headers });
  assert.ok(answer.status < 300, `${method} ${target}: ${answer.text}`);
  return answer.json;
}

const read = (server: OrchProcess, called = name): Promise<StoredDefinition> =>
  send(server, 'GET', definitionPath(called));

/** Waits until a server answers requests for a path with this status. */
const answers = (server: OrchProcess, target: string, status: number): Promise<void> =>
  until(
    async () => (await server.get(target)).status === status,
    () => `${target} is not ${status}`,
  );

describe('definitions on two servers of one etcd', { skip: etcdMissing, timeout: 5 * 60_000 }, () => {
  let etcd: EtcdProcess;
  let prefixes = 0;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd?.stop());

  /** Two servers with data of their own. */
  async function servers(): Promise<
    AsyncDisposable & { readonly one: OrchProcess; readonly two: OrchProcess; readonly prefix: string }
  > {
    const prefix = `/definitions-${++prefixes}`;
    const flags = [`--etcd-servers=${etcd.endpoint}`, `--etcd-prefix=${prefix}`];
    const [one, two] = await Promise.all([OrchProcess.start({ flags }), OrchProcess.start({ flags })]);
    return {
      ...{ one, two, prefix },
      async [Symbol.asyncDispose]() {
        await one[Symbol.asyncDispose]();
        await two[Symbol.asyncDispose]();
      },
    };
  }

  test('made at one, a kind is served by both; its status is written once', async () => {
    await using both = await servers();
    const { one, two } = both;
    const watch = two.watch(`${definitionPath()}?watch=1`);
    await watch.until(({ status }) => status === 200);
    for (let round = 0; round < 10; round++) {
      const [writer, other] = round % 2 === 0 ? [one, two] : [two, one];
      const kind = `Widget${round}`;
      await send(writer, 'POST', definitionPath(), definitionOf({ group, kind, properties: size('integer') }));
      const collection = `/apis/${group}/v1/namespaces/default/${kind.toLowerCase()}s`;
      await answers(writer, collection, 200);
      await send(writer, 'POST', collection, { ...widget('a', 1), kind });
      await answers(other, `${collection}/a`, 200);
      await send(other, 'POST', collection, { ...widget('b', 1), kind });
    }
    // Whoever still fights over a status shows in what came of them meanwhile: each was created, and established.
    await watch.until(({ events }) => events.length >= 20);
    const last = await send(one, 'POST', definitionPath(), definitionOf({ group, kind: 'Last' }));
    await watch.until(({ events }) =>
      events.some(({ type, object }) => type === 'MODIFIED' && object.metadata.name === last.metadata.name),
    );
    watch.close();
    const counts = Map.groupBy(watch.events, ({ object }) => object.metadata.name);
    for (const [called, events] of counts) {
      assert.deepEqual(
        events.map(({ type }) => type),
        ['ADDED', 'MODIFIED'],
        called,
      );
      const { metadata, ...definition } = await read(one, called);
      assert.deepEqual(
        [metadata.resourceVersion, metadata.generation],
        [events[1]?.object.metadata.resourceVersion, 1],
      );
      assert.ok(isEstablished(definition), called);
    }
  });

  test('of many that want the same names, made at both at once, one gets each; the others wait their turn', async () => {
    await using both = await servers();
    const { one, two } = both;
    const watch = one.watch(`${definitionPath()}?watch=1`);
    await watch.until(({ status }) => status === 200);
    const wanting = Array.from({ length: 8 }, (_, at) => {
      const definition = definitionOf({ group, kind: `Kind${at}` });
      return { ...definition, spec: { ...definition.spec, names: { ...definition.spec.names, shortNames: ['same'] } } };
    });
    await Promise.all(wanting.map((each, at) => send(at % 2 === 0 ? one : two, 'POST', definitionPath(), each)));
    const having = async (server: OrchProcess): Promise<readonly string[]> => {
      const { items } = await send<{ items: readonly StoredDefinition[] }>(server, 'GET', definitionPath());
      return items
        .filter(({ status }) => status?.acceptedNames?.shortNames?.includes('same'))
        .map(({ metadata }) => metadata.name);
    };
    const decided = async (server: OrchProcess): Promise<boolean> => {
      const { items } = await send<{ items: readonly StoredDefinition[] }>(server, 'GET', definitionPath());
      return items.every(({ status }) => conditionOf(status?.conditions, 'NamesAccepted') !== undefined);
    };
    for (let left = wanting.length; left > 0; left--) {
      for (const server of [one, two]) {
        await until(() => decided(server), 'nothing is decided');
        await until(async () => (await having(server)).length === 1, 'nobody has the name');
      }
      const [owner = ''] = await having(one);
      assert.deepEqual(await having(two), [owner]);
      await send(left % 2 === 0 ? one : two, 'DELETE', definitionPath(owner));
      // It has the name until it is gone.
      for (const server of [one, two]) await answers(server, definitionPath(owner), 404);
    }
    await until(async () => (await having(two)).length === 0, 'a definition is still there');
    // Created, decided, perhaps decided anew when the name was free, marked, emptied, gone.
    const perDefinition = Map.groupBy(watch.events, ({ object }) => object.metadata.name);
    for (const [called, events] of perDefinition)
      assert.ok(events.length <= 8, `${called}: ${events.map(({ type }) => type)}`);
    watch.close();
  });

  test('a schema that changes at one validates at the other; what was valid stays readable', async () => {
    await using both = await servers();
    const { one, two } = both;
    await send(one, 'POST', definitionPath(), definitionOf({ group, properties: size('integer') }));
    await answers(two, path, 200);
    const watch = two.watch(`${path}?watch=1`);
    await watch.until(({ status }) => status === 200);
    await send(two, 'POST', path, widget('large', 100));
    for (let round = 1; round <= 10; round++) {
      const [writer, other] = round % 2 === 0 ? [one, two] : [two, one];
      const versions = [versionOf(size('integer', { maximum: 50 - round }))];
      await send(writer, 'PATCH', definitionPath(name), { spec: { versions } });
      for (const server of [writer, other]) {
        const refuses = async (): Promise<boolean> =>
          (await server.post(`${path}?dryRun=All`, widget('wrong', 51 - round))).status === 422;
        await until(refuses, 'a wrong object is taken');
        assert.equal((await server.post(`${path}?dryRun=All`, widget('right', 50 - round))).status, 201);
      }
      assert.deepEqual((await send(other, 'GET', `${path}/large`)).spec, { size: 100 });
    }
    await send(one, 'POST', path, widget('later', 1));
    await watch.until(({ events }) => events.length === 2);
    watch.close();
    assert.deepEqual(shown(watch), ['ADDED large', 'ADDED later']);
    const { metadata } = await read(two);
    assert.equal(metadata.generation, 11);
  });

  test('removed at one, a kind is gone from both: each object once, watches end, a new one is empty', async () => {
    await using both = await servers();
    const { one, two } = both;
    for (let round = 0; round < 3; round++) {
      await send(one, 'POST', definitionPath(), definitionOf({ group, properties: size('integer') }));
      await answers(one, path, 200);
      await answers(two, path, 200);
      assert.deepEqual((await send<{ items: unknown[] }>(two, 'GET', path)).items, []);
      const names = Array.from({ length: 20 }, (_, at) => `w${at}`);
      for (const each of names) await send(two, 'POST', path, widget(each, 1));
      const watches = [one.watch(`${path}?watch=1&resourceVersion=0`), two.watch(`${path}?watch=1&resourceVersion=0`)];
      for (const watch of watches) await watch.until(({ events }) => events.length === names.length);
      await send(round % 2 === 0 ? one : two, 'DELETE', definitionPath(name));
      for (const watch of watches) {
        await until(() => watch.ended, 'a watch goes on');
        assert.ok(watch.complete);
        assert.deepEqual(
          shown(watch).slice(names.length).toSorted(),
          names.map((each) => `DELETED ${each}`).toSorted(),
        );
      }
      await answers(one, path, 404);
      await answers(two, path, 404);
      await answers(two, definitionPath(name), 404);
    }
  });

  test('a removal that one has begun is ended by the other', async () => {
    await using both = await servers();
    const { one, two } = both;
    await send(one, 'POST', definitionPath(), definitionOf({ group, properties: size('integer') }));
    await answers(one, path, 200);
    await answers(two, path, 200);
    const watch = two.watch(`${path}?watch=1`);
    await watch.until(({ status }) => status === 200);
    const held = { ...widget('held', 1), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    await send(one, 'POST', path, held);
    await send(one, 'POST', path, widget('free', 1));
    await send(one, 'DELETE', definitionPath(name));
    await answers(one, `${path}/free`, 404);
    await one.kill();
    assert.equal((await two.post(path, widget('late', 1))).status, 405);
    await send(two, 'PATCH', `${path}/held`, { metadata: { finalizers: null } });
    await answers(two, definitionPath(name), 404);
    await answers(two, path, 404);
    await until(() => watch.ended, 'the watch goes on');
    assert.deepEqual(shown(watch).toSorted(), [
      'ADDED free',
      'ADDED held',
      'DELETED free',
      'DELETED held',
      'MODIFIED held',
    ]);
  });

  test('a webhook that changes at one converts at both; what the former one converted is not shown any more', async () => {
    await using both = await servers();
    const { one, two } = both;
    await using first = await ConversionWebhook.start();
    await using second = await ConversionWebhook.start();
    first.convert = (object) => ({ ...object, by: 'first' });
    second.convert = (object) => ({ ...object, by: 'second' });
    const versions = ['v1', 'v2'].map((version) =>
      versionOf({ by: { type: 'string' } }, { name: version, storage: version === 'v1' }),
    );
    const definition = definitionOf({ group, versions });
    const conversion = first.conversion();
    await send(one, 'POST', definitionPath(), { ...definition, spec: { ...definition.spec, conversion } });
    await answers(one, path, 200);
    await send(one, 'POST', path, { ...widget('a', 1), by: 'nobody' });
    const converted = path.replace('/v1/', '/v2/');
    const by = async (server: OrchProcess): Promise<string | undefined> =>
      (await server.get<Item & { by?: string }>(`${converted}/a`)).json.by;
    const changes: readonly (readonly [string, unknown])[] = [
      ['first', first.conversion()],
      ['second', second.conversion()],
      ['nobody', { strategy: 'None', webhook: null }],
      ['first', first.conversion()],
    ];
    for (const [expected, changed] of changes) {
      await send(two, 'PATCH', definitionPath(name), { spec: { conversion: changed } });
      for (const server of [one, two]) {
        await until(
          async () => (await by(server)) === expected,
          () => `it is not converted by ${expected}`,
        );
      }
    }
  });

  test('a storage version that changes at one is that of both, and no object is stored in one that was given up', async () => {
    await using both = await servers();
    const { one, two, prefix } = both;
    const inVersions = (stored: string) =>
      ['v1', 'v2'].map((version) => versionOf(size('integer'), { name: version, storage: version === stored }));
    await send(one, 'POST', definitionPath(), definitionOf({ group, versions: inVersions('v1') }));
    await answers(two, path, 200);
    let [made, stops] = [0, false];
    const writing = (async () => {
      while (!stops) {
        await send(two, 'POST', path, widget(`w${made++}`, 1));
        await send(two, 'PATCH', `${path}/w${Math.floor(made / 2)}`, { spec: { size: made } });
      }
    })();
    let givenUp = 0;
    try {
      for (const [from, to] of [
        ['v1', 'v2'],
        ['v2', 'v1'],
      ] as const) {
        const enough = made + 20;
        await until(() => made > enough);
        await send(one, 'PATCH', definitionPath(name), { spec: { versions: inVersions(to) } });
        await until(async () => (await read(two)).status?.storedVersions?.join() === `${from},${to}`);
        const { items } = await send<{ items: readonly Item[] }>(one, 'GET', path);
        for (const { metadata } of items)
          await send(one, 'PATCH', `${path}/${metadata.name}`, { metadata: { labels: { to } } });
        const changed = await send(one, 'PATCH', `${definitionPath(name)}/status`, {
          status: { storedVersions: [to] },
        });
        givenUp = Number(changed.metadata.resourceVersion);
        const more = made + 20;
        await until(() => made > more);
        const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
        try {
          const { records } = await store.list(`/${group}/widgets/`);
          const wrong = records.filter(
            ({ value }) => (JSON.parse(Buffer.from(value).toString()) as Item).apiVersion !== `${group}/${to}`,
          );
          assert.deepEqual(
            wrong.map(({ key }) => key),
            [],
            `since ${givenUp}`,
          );
        } finally {
          await store.close();
        }
      }
    } finally {
      stops = true;
      await writing;
    }
  });
});
