import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/time/clock.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../src/meta/api-object.ts';
import { writeRaw } from '../../src/registry/write/raw-write.ts';
import { type Environment, systemEnvironment } from '../../src/server/wiring/environment.ts';
import type { Store } from '../../src/store/store.ts';
import { addressDefinition, addressPath, webhookForSuite } from '../support/addresses.ts';
import { type Answer, answersOf } from '../support/answers.ts';
import { define, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';

/** Everything that can be asked for in a version to which a webhook converts. */

type Fields = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: Fields) => ({ type: 'object', properties });
const column = (name: string, jsonPath: string, type = 'string') => ({ name, jsonPath, type });

/** In v1: host and port, replicas and phase; in v2: one address, count and state. */
const versions = [
  versionOf(
    {
      spec: object({ host: text, port: text, replicas: integer }),
      status: object({ phase: text, replicas: integer, selector: text }),
    },
    {
      subresources: {
        status: {},
        scale: {
          specReplicasPath: '.spec.replicas',
          statusReplicasPath: '.status.replicas',
          labelSelectorPath: '.status.selector',
        },
      },
      additionalPrinterColumns: [column('Host', '.spec.host'), column('Phase', '.status.phase')],
      selectableFields: [{ jsonPath: '.spec.host' }],
    },
  ),
  versionOf(
    {
      spec: object({ address: text, count: integer }),
      status: object({ state: text, count: integer, selects: text }),
    },
    {
      ...{ name: 'v2', storage: false },
      subresources: {
        status: {},
        scale: {
          specReplicasPath: '.spec.count',
          statusReplicasPath: '.status.count',
          labelSelectorPath: '.status.selects',
        },
      },
      additionalPrinterColumns: [column('Address', '.spec.address'), column('Count', '.spec.count', 'integer')],
      selectableFields: [{ jsonPath: '.spec.address' }],
    },
  ),
];

interface Widget extends ApiObject {
  readonly spec?: Fields;
  readonly status?: Fields;
}

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Also labels an object with its version, which webhooks may do. */
function convert(sent: unknown, apiVersion: string): unknown {
  const { spec, status, metadata, ...rest } = sent as Widget;
  const labels = { ...metadata.labels, version: apiVersion.split('/')[1] };
  const made = { ...rest, metadata: { ...metadata, labels } };
  if (apiVersion.endsWith('/v2')) {
    const { host, port, replicas } = spec ?? {};
    const { phase, selector } = status ?? {};
    const address = host === undefined ? undefined : `${host}:${port}`;
    return {
      ...made,
      ...(spec && { spec: defined({ address, count: replicas }) }),
      ...(status && { status: defined({ state: phase, count: status['replicas'], selects: selector }) }),
    };
  }
  const { address, count } = spec ?? {};
  const { state, selects } = status ?? {};
  const [host, port] = address === undefined ? [] : String(address).split(':');
  return {
    ...made,
    ...(spec && { spec: defined({ host, port, replicas: count }) }),
    ...(status && { status: defined({ phase: state, replicas: status['count'], selector: selects }) }),
  };
}

describe('in a version to which a webhook converts', () => {
  const { controllers } = memoryConfiguration;
  let store: Store | undefined;
  const openStore: Environment['openStore'] = async (...how) => {
    store = await systemEnvironment.openStore(...how);
    return store;
  };
  const suite = serverForSuite({ ...systemEnvironment, openStore }, { controllers });
  const converting = webhookForSuite(convert);
  const { send, patch, apply, exchange } = answersOf(() => suite.server.transportAs(root));
  const at = (group: string, version: string, name?: string, subresource = ''): string =>
    `${addressPath(group, version, name)}${subresource && `/${subresource}`}`;
  const one = (group: string, name: string, more: Fields = {}) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    spec: { host: 'a', port: '1', replicas: 1 },
    ...more,
  });
  const two = (group: string, name: string, more: Fields = {}) => ({
    ...{ apiVersion: `${group}/v2`, kind: 'Widget', metadata: { name } },
    spec: { address: 'b:2', count: 2 },
    ...more,
  });
  const ok = ({ code, body, message }: Answer): Widget => {
    assert(code < 300, message);
    return body as Widget;
  };
  const defineGroup = (group: string): Promise<void> =>
    define(suite.server.clientAs(root, 'test'), addressDefinition(group, converting.webhook.conversion(), versions));
  const create = async (group: string, name: string, more: Fields = {}): Promise<Widget> =>
    ok(await send('POST', at(group, 'v1'), one(group, name, more)));
  const read = async (target: string): Promise<Widget> => ok(await send('GET', target));
  const inBoth = async (group: string, name: string) => {
    const [first, second] = [await read(at(group, 'v1', name)), await read(at(group, 'v2', name))];
    return { first: [first.spec, first.status], second: [second.spec, second.status] };
  };
  const namesOf = (list: unknown): readonly string[] =>
    (list as { items: readonly ApiObject[] }).items.map(({ metadata }) => String(metadata.name));

  describe('subresources', () => {
    const group = 'parts.converted.example.com';
    before(() => defineGroup(group));

    it('status is written in it, and nothing else', async () => {
      await create(group, 'status');
      const status = { state: 'On', count: 1 };
      const sent = two(group, 'status', { spec: { address: 'x:9' }, status });
      const { resourceVersion } = (await read(at(group, 'v2', 'status'))).metadata;
      const metadata = { name: 'status', resourceVersion };
      const put = ok(await send('PUT', at(group, 'v2', 'status', 'status'), { ...sent, metadata }));
      assert.deepEqual([put.apiVersion, put.spec, put.status], [`${group}/v2`, { address: 'a:1', count: 1 }, status]);
      ok(await patch('merge', at(group, 'v2', 'status', 'status'), { status: { state: 'Off' } }));
      ok(await patch('merge', at(group, 'v2', 'status'), { spec: { count: 5 }, status: { state: 'ignored' } }));
      assert.deepEqual(await inBoth(group, 'status'), {
        first: [
          { host: 'a', port: '1', replicas: 5 },
          { phase: 'Off', replicas: 1 },
        ],
        second: [
          { address: 'a:1', count: 5 },
          { state: 'Off', count: 1 },
        ],
      });
      const applied = two(group, 'status', { spec: undefined, status: { selects: 'a=b' } });
      const answer = ok(await apply(at(group, 'v2', 'status', 'status'), applied, 'observer'));
      assert.deepEqual(answer.status, { state: 'Off', count: 1, selects: 'a=b' });
      assert.equal((await read(at(group, 'v2', 'status'))).metadata.generation, 2, 'only the change of spec counts');
    });

    it('scale reads and writes the fields of that version', async () => {
      await create(group, 'scale');
      ok(await patch('merge', at(group, 'v1', 'scale', 'status'), { status: { replicas: 7, selector: 'a=b' } }));
      const scale = at(group, 'v2', 'scale', 'scale');
      const seen = await read(scale);
      assert.deepEqual(
        [seen.kind, seen.spec, seen.status],
        ['Scale', { replicas: 1 }, { replicas: 7, selector: 'a=b' }],
      );
      assert.equal(ok(await patch('merge', scale, { spec: { replicas: 3 } })).spec?.['replicas'], 3);
      const put = ok(await send('PUT', scale, { ...(await read(scale)), spec: { replicas: 4 } }));
      assert.deepEqual(put.spec, { replicas: 4 });
      const config = {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'scale' },
        spec: { replicas: 6 },
      };
      assert.deepEqual(ok(await apply(scale, config, 'scaler', { force: true })).spec, { replicas: 6 });
      assert.deepEqual((await inBoth(group, 'scale')).first[0], { host: 'a', port: '1', replicas: 6 });
      const owners = (await read(at(group, 'v1', 'scale'))).metadata.managedFields ?? [];
      const scaler = owners.find(({ manager }) => manager === 'scaler') as ManagedFieldsEntry;
      assert.equal(scaler.apiVersion, `${group}/v2`);
      assert.deepEqual(scaler.fieldsV1, { 'f:spec': { 'f:count': {} } });
    });
  });

  describe('views', () => {
    const group = 'views.converted.example.com';
    before(async () => {
      await defineGroup(group);
      for (const name of ['a', 'b']) await create(group, name);
    });
    const as = async (target: string, kind: string): Promise<Fields> => {
      const accept = `application/json;as=${kind};v=v1;g=meta.orch.io`;
      return ok(await exchange({ method: 'GET', target, headers: { accept } })) as unknown as Fields;
    };

    it('tables have its columns and values', async () => {
      for (const target of [at(group, 'v2'), at(group, 'v2', 'a')]) {
        const table = (await as(target, 'Table')) as {
          readonly columnDefinitions: readonly { readonly name: string }[];
          readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: ApiObject }[];
        };
        assert.deepEqual(
          table.columnDefinitions.map(({ name }) => name),
          ['Name', 'Address', 'Count'],
        );
        const [row] = table.rows;
        assert.deepEqual(row?.cells, ['a', 'a:1', 1]);
        assert.equal(row?.object.metadata.labels?.['version'], 'v2', 'the metadata of the converted object');
      }
    });

    it('metadata has its labels', async () => {
      const single = (await as(at(group, 'v2', 'a'), 'PartialObjectMetadata')) as unknown as ApiObject;
      assert.deepEqual(
        [single.kind, single['spec'], single.metadata.labels],
        ['PartialObjectMetadata', undefined, { version: 'v2' }],
      );
      const list = (await as(at(group, 'v2'), 'PartialObjectMetadataList')) as { items: readonly ApiObject[] };
      assert.deepEqual(
        list.items.map(({ metadata: { name, labels } }) => [name, labels]),
        [
          ['a', { version: 'v2' }],
          ['b', { version: 'v2' }],
        ],
      );
    });
  });

  describe('watches', () => {
    const group = 'watches.converted.example.com';
    before(async () => {
      await defineGroup(group);
      for (const name of ['a', 'b']) await create(group, name);
    });

    it('begin with what is there, its end, and tell how far they are', async () => {
      const stop = new AbortController();
      const seen: string[] = [];
      const target = `${at(group, 'v2')}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`;
      const client = suite.server.clientAs(root, 'test');
      const watching = (async () => {
        for await (const { type, object: each } of client.watch(target, { signal: stop.signal })) {
          const { apiVersion, metadata, spec } = each as Widget;
          assert.equal(apiVersion, `${group}/v2`);
          const ends = metadata.annotations?.['orch.io/initial-events-end'];
          seen.push([type, metadata.name ?? ends, spec?.['address']].join(' ').trim());
        }
      })().catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      const began = ['ADDED a a:1', 'ADDED b a:1', 'BOOKMARK true'];
      await until(() => seen.length >= 3);
      assert.deepEqual(seen, began);
      await create(group, 'c');
      ok(await patch('merge', at(group, 'v2', 'c'), { spec: { address: 'c:3' } }));
      ok(await send('DELETE', at(group, 'v2', 'c')));
      await until(
        () => seen.length === 6,
        () => seen.join(),
      );
      assert.deepEqual(seen.slice(3), ['ADDED c a:1', 'MODIFIED c c:3', 'DELETED c c:3']);
      stop.abort();
      await within(watching, 'the watch goes on');
    });
  });

  it('collections are deleted', async () => {
    const group = 'deleted.converted.example.com';
    await defineGroup(group);
    for (const name of ['a', 'b', 'c']) await create(group, name, { metadata: { name, labels: { app: name } } });
    ok(await patch('merge', at(group, 'v2', 'c'), { metadata: { finalizers: ['example.com/wait'] } }));
    ok(await send('DELETE', `${at(group, 'v2')}?labelSelector=app%3Da`));
    assert.deepEqual(namesOf(await read(at(group, 'v2'))), ['b', 'c']);
    ok(await send('DELETE', at(group, 'v2')));
    const { items } = (await read(at(group, 'v2'))) as unknown as { items: readonly ApiObject[] };
    assert.deepEqual(
      items.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined]),
      [['c', true]],
    );
    ok(await patch('merge', at(group, 'v2', 'c'), { metadata: { finalizers: null } }));
    assert.deepEqual(namesOf(await read(at(group, 'v1'))), []);
  });

  it('managers apply in different versions, and each gives up what is its own', async () => {
    const group = 'owners.converted.example.com';
    await defineGroup(group);
    const ownersOf = ({ metadata }: Widget) =>
      Object.fromEntries(
        (metadata.managedFields ?? []).map(({ manager, apiVersion, fieldsV1 }) => [
          `${manager} ${apiVersion?.split('/')[1]}`,
          (fieldsV1 as Fields)['f:spec'],
        ]),
      );
    ok(await apply(at(group, 'v1', 'x'), one(group, 'x', { spec: { host: 'a', port: '1' } }), 'first'));
    ok(await apply(at(group, 'v2', 'x'), two(group, 'x', { spec: { count: 2 } }), 'second'));
    const both = await read(at(group, 'v1', 'x'));
    assert.deepEqual(both.spec, { host: 'a', port: '1', replicas: 2 });
    assert.deepEqual(ownersOf(both), {
      'first v1': { 'f:host': {}, 'f:port': {} },
      'second v2': { 'f:count': {} },
    });
    const conflict = await apply(
      at(group, 'v1', 'x'),
      one(group, 'x', { spec: { host: 'a', port: '1', replicas: 9 } }),
      'first',
    );
    assert.equal(conflict.code, 409);
    assert.match(conflict.message, /conflict with "second": \.spec\.count$/);
    const shared = ok(
      await apply(at(group, 'v1', 'x'), one(group, 'x', { spec: { host: 'a', port: '1', replicas: 2 } }), 'first'),
    );
    assert.deepEqual(ownersOf(shared)['first v1'], { 'f:host': {}, 'f:port': {}, 'f:replicas': {} });
    ok(await apply(at(group, 'v2', 'x'), two(group, 'x', { spec: {} }), 'second'));
    assert.deepEqual(
      (await read(at(group, 'v2', 'x'))).spec,
      { address: 'a:1', count: 2 },
      'the other one owns it, too',
    );
    ok(await apply(at(group, 'v1', 'x'), one(group, 'x', { spec: { host: 'a', port: '1' } }), 'first'));
    assert.deepEqual((await read(at(group, 'v2', 'x'))).spec, { address: 'a:1' }, 'nobody owns the count any more');
  });

  it('restored objects are stored in the storage version, whatever their own', async () => {
    const group = 'restored.converted.example.com';
    await defineGroup(group);
    const metadata = {
      namespace: 'default',
      uid: 'b1e3f1d2-0000-4000-8000-000000000000',
      creationTimestamp: '2020-01-01T00:00:00Z',
    };
    const { resources } = suite.server;
    assert(store);
    await writeRaw({ resources, store, clock: systemClock }, [
      two(group, 'x', { metadata: { ...metadata, name: 'x' }, status: { state: 'On' } }),
      one(group, 'y', { metadata: { ...metadata, name: 'y' } }),
    ]);
    const entry = resources.find(group, 'v1', 'widgets');
    await until(async () => namesOf(await read(at(group, 'v1'))).length === 2);
    for (const name of ['x', 'y']) {
      const bytes = entry?.collection.get(entry.objectKey('default', name))?.bytes.toString() ?? '{}';
      assert.equal(JSON.parse(bytes).apiVersion, `${group}/v1`);
    }
    const seen = await read(at(group, 'v1', 'x'));
    assert.deepEqual(
      [seen.metadata.uid, seen.spec, seen.status],
      [metadata.uid, { host: 'b', port: '2', replicas: 2 }, { phase: 'On' }],
    );
    assert.deepEqual((await read(at(group, 'v2', 'y'))).spec, { address: 'a:1', count: 1 });
  });

  describe('selectors', () => {
    const group = 'selected.converted.example.com';
    before(async () => {
      await defineGroup(group);
      for (const [name, host] of [
        ['a', 'x'],
        ['b', 'y'],
        ['c', 'x'],
      ])
        await create(group, String(name), {
          metadata: { name, labels: { app: name } },
          spec: { host, port: '1' },
        });
    });
    const rows: readonly (readonly [version: string, selector: string, expected: readonly string[]])[] = [
      ['v1', 'fieldSelector=spec.host%3Dx', ['a', 'c']],
      ['v1', 'fieldSelector=spec.host!%3Dx', ['b']],
      ['v2', 'fieldSelector=metadata.name%3Db', ['b']],
      ['v2', 'labelSelector=app%3Db', ['b']],
    ];
    for (const [version, selector, expected] of rows) {
      it(`select in ${version}: ${selector}`, async () => {
        assert.deepEqual(namesOf(await read(`${at(group, version)}?${selector}`)), expected);
      });
    }

    it('by fields that objects do not have as they are stored are refused', async () => {
      const message = 'field label not supported: spec.address: not all stored versions have it';
      const selector = 'fieldSelector=spec.address!%3Dx:1';
      for (const [method, target] of [
        ['GET', `${at(group, 'v2')}?${selector}`],
        ['GET', `${at(group, 'v2')}?watch=1&${selector}`],
        ['DELETE', `${at(group, 'v2')}?${selector}`],
      ] as const) {
        const answer = await send(method, target);
        assert.deepEqual([answer.code, answer.message], [400, message]);
      }
      assert.deepEqual(namesOf(await read(at(group, 'v1'))), ['a', 'b', 'c']);
    });

    it('by fields are refused once objects may be stored in versions without them', async () => {
      const moved = 'moved.converted.example.com';
      await defineGroup(moved);
      await create(moved, 'a');
      const moving = versions.map((version) => ({ ...version, storage: version['name'] === 'v2' }));
      ok(await patch('merge', definitionPath(`widgets.${moved}`), { spec: { versions: moving } }));
      await until(() => suite.server.resources.find(moved, 'v1', 'widgets')?.resource.kind.version === 'v2');
      for (const [version, field] of [
        ['v1', 'spec.host'],
        ['v2', 'spec.address'],
      ] as const) {
        const { code, message } = await send('GET', `${at(moved, version)}?fieldSelector=${field}%3Dx`);
        assert.deepEqual(
          [code, message],
          [400, `field label not supported: ${field}: not all stored versions have it`],
        );
      }
    });

    it('refuse fields of other versions', async () => {
      for (const [version, field] of [
        ['v1', 'spec.address'],
        ['v2', 'spec.host'],
      ] as const) {
        const { code, message } = await send('GET', `${at(group, version)}?fieldSelector=${field}%3Dx`);
        assert.deepEqual([code, message], [400, `field label not supported: ${field}`]);
      }
    });
  });
});
