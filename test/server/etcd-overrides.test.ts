import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import type { StoreRecord } from '../../src/store/store.ts';
import { Command } from '../support/command.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/** `--etcd-servers-overrides`: events and leases in an etcd of their own. */

interface Item {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
}
interface List {
  readonly items: readonly Item[];
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}

const inNamespace = (namespace: string) => ({
  events: `/api/v1/namespaces/${namespace}/events`,
  maps: `/api/v1/namespaces/${namespace}/configmaps`,
  leases: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
});
const { events, maps, leases } = inNamespace('default');
const names = ({ items }: List): readonly string[] => items.map(({ metadata }) => metadata.name);
const eventNamed = (name: string, namespace = 'default') => ({
  metadata: { name, labels: { by: 'test' } },
  involvedObject: { namespace },
});

function made<T>({ status, json, text }: Answer<T>): T {
  assert.equal(status, 201, text);
  return json;
}

function got<T>({ status, json, text }: Answer<T>): T {
  assert.equal(status, 200, text);
  return json;
}

async function recordsIn(etcd: EtcdProcess, folder: string, prefix = '/registry'): Promise<readonly StoreRecord[]> {
  const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
  try {
    return (await store.list(folder)).records;
  } finally {
    await store.close();
  }
}

describe('resources in another etcd', { skip: etcdMissing, timeout: 10 * 60_000 }, () => {
  let main: EtcdProcess;
  let other: EtcdProcess;
  let folder: string;
  let servers: readonly [OrchProcess, OrchProcess];
  let server: OrchProcess;
  const flagsTo = (...resources: readonly string[]): readonly string[] => [
    '--dialect=kubernetes',
    `--etcd-servers=${main.endpoint}`,
    `--etcd-servers-overrides=${resources.map((resource) => `${resource}#${other.endpoint}`).join(',')}`,
  ];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orch-overrides-'));
    [main, other] = await Promise.all([startEtcd(), startEtcd()]);
    const flags = flagsTo('/events', 'coordination.k8s.io/leases');
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    server = await OrchProcess.start({ flags: [...flags, '--serving-threads=2'], dataDir: one });
    mkdirSync(join(two, 'pki'), { recursive: true, mode: 0o700 });
    for (const file of ['ca.crt', 'ca.key', 'service-account.key'])
      cpSync(join(one, 'pki', file), join(two, 'pki', file));
    servers = [server, await OrchProcess.start({ flags, dataDir: two })];
  });
  after(async () => {
    for (const each of servers ?? [server]) await each?.kill();
    await Promise.all([main?.stop(), other?.stop()]);
    rmSync(folder, { recursive: true });
  });

  test('are there and nowhere else, with the revisions of that etcd', async () => {
    const made = await Promise.all([
      server.post<Item>(events, eventNamed('placed')),
      server.post<Item>(leases, { metadata: { name: 'placed' } }),
      server.post<Item>(maps, { metadata: { name: 'placed' } }),
    ]);
    const places = [
      ['/core/events/', other, main],
      ['/coordination.k8s.io/leases/', other, main],
      ['/core/configmaps/', main, other],
    ] as const;
    for (const [index, [prefix, there, elsewhere]] of places.entries()) {
      const record = (await recordsIn(there, prefix)).find(({ key }) => key === `${prefix}default/placed`);
      assert.equal(String(record?.revision), made[index]?.json.metadata.resourceVersion, prefix);
      assert.deepEqual(await recordsIn(elsewhere, prefix), [], prefix);
    }
    const keys = async () => (await recordsIn(other, '/')).map(({ key }) => key);
    assert.deepEqual(
      (await keys()).filter((key) => !/^\/(core\/events|coordination\.k8s\.io\/leases|\.servers)\//.test(key)),
      ['/.dialect'],
    );
    // Each server says that it is there, and each of its threads.
    await until(async () => (await keys()).filter((key) => key.startsWith('/.servers/')).length === 3);
  });

  test('are listed, paged, watched and deleted by versions of their own', async () => {
    for (const name of ['a', 'b', 'c', 'd']) made(await server.post(events, eventNamed(name)));
    const query = `${events}?fieldSelector=metadata.name!=placed&labelSelector=by=test`;
    const before = got(await server.get<List>(query));
    const page = got(await server.get<List>(`${events}?labelSelector=by=test&limit=2`));
    const { resourceVersion } = before.metadata;
    assert.deepEqual(
      [names(before), names(page)],
      [
        ['a', 'b', 'c', 'd'],
        ['a', 'b'],
      ],
    );
    const watch = server.watch(`${query.replace('?', '?watch=1&')}&resourceVersion=${resourceVersion}`);
    made(await server.post(maps, { metadata: { name: 'unrelated' } }));
    assert.equal((await server.delete(`${events}/c`)).status, 200);
    made(await server.post(events, eventNamed('e')));
    await watch.until((each) => each.events.length === 2);
    watch.close();
    assert.deepEqual(
      watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`),
      ['DELETED c', 'ADDED e'],
    );
    const rest = got(
      await server.get<List>(`${events}?labelSelector=by=test&limit=9&continue=${page.metadata.continue}`),
    );
    assert.deepEqual(
      [names(rest), rest.metadata.resourceVersion],
      [['c', 'd', 'placed'], page.metadata.resourceVersion],
    );
    const exact = got(await server.get<List>(`${query}&resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`));
    assert.deepEqual([names(exact), exact.metadata], [names(before), before.metadata]);
    // The main etcd has counted on: its version is one that the other one has not reached.
    const { metadata } = got(await server.get<List>(maps));
    assert.ok(Number(metadata.resourceVersion) > Number(resourceVersion) + 50);
    const tooNew = await server.get(`${events}?resourceVersion=${metadata.resourceVersion}`);
    assert.equal(tooNew.status, 504, tooNew.text);
    const gathered = got(
      await server.get<List>(`/apis/events.k8s.io/v1/namespaces/default/events?labelSelector=by=test`),
    );
    assert.deepEqual(names(gathered), ['a', 'b', 'd', 'e', 'placed']);
    assert.equal((await server.delete(`${events}?labelSelector=by=test`)).status, 200);
    assert.deepEqual(names(got(await server.get<List>(`${events}?labelSelector=by=test`))), []);
    assert.deepEqual(
      (await recordsIn(other, '/core/events/default/')).filter(({ value }) =>
        /"by":"test"/.test(Buffer.from(value).toString()),
      ),
      [],
    );
  });

  test('what one server acknowledges the other one shows', async () => {
    const [one, two] = servers;
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
      const name = `seen-${round}`;
      const { resourceVersion } = made(await writer.post<Item>(events, eventNamed(name))).metadata;
      assert.equal(got(await reader.get<Item>(`${events}/${name}`)).metadata.resourceVersion, resourceVersion);
      assert.ok(names(got(await reader.get<List>(events))).includes(name));
      const notOlder = await reader.get<List>(`${events}?resourceVersion=${resourceVersion}`);
      assert.ok(names(got(notOlder)).includes(name));
      const put = await reader.put(`${events}/${name}`, { ...eventNamed(name), message: 'x' });
      assert.equal(put.status, 200, put.text);
      assert.equal((await writer.delete(`${events}/${name}`)).status, 200);
      assert.equal((await reader.get(`${events}/${name}`)).status, 404);
    }
  });

  test('serving threads all have them', async () => {
    const wanted = Array.from({ length: 24 }, (_, index) => `thread-${String(index).padStart(2, '0')}`);
    await Promise.all(wanted.map(async (name) => made(await server.post(events, eventNamed(name)))));
    const lists = await Promise.all(wanted.map(() => server.get<List>(events)));
    for (const list of lists) {
      assert.deepEqual(
        names(got(list)).filter((name) => name.startsWith('thread-')),
        wanted,
      );
    }
  });

  test('go with their namespace, and a later one of that name does not show what they were', async () => {
    const body = { metadata: { name: 'short' } };
    const { events, maps, leases } = inNamespace('short');
    made(await server.post('/api/v1/namespaces', body));
    made(await server.post(maps, { metadata: { name: 'one' } }));
    made(await server.post(leases, { metadata: { name: 'one' } }));
    made(await server.post(events, eventNamed('one', 'short')));
    made(await server.post(events, eventNamed('two', 'short')));
    const page = got(await server.get<List>(`${events}?limit=1`));
    const { resourceVersion } = page.metadata;
    const paged = await server.get<List>(`${events}?limit=5&continue=${page.metadata.continue}`);
    assert.ok([200, 410].includes(paged.status), paged.text);
    assert.equal((await server.delete('/api/v1/namespaces/short')).status, 200);
    await until(async () => (await server.get('/api/v1/namespaces/short')).status === 404, 'the namespace stays');
    assert.deepEqual(await recordsIn(other, '/core/events/short/'), []);
    assert.deepEqual(await recordsIn(other, '/coordination.k8s.io/leases/short/'), []);
    made(await server.post('/api/v1/namespaces', body));
    const exact = (version: string) => `${events}?resourceVersion=${version}&resourceVersionMatch=Exact`;
    for (const each of servers) assert.equal((await each.get(exact(resourceVersion))).status, 410);
    assert.equal((await server.get(`${events}?limit=5&continue=${page.metadata.continue}`)).status, 410);
    const watch = server.watch(`${events}?watch=1&resourceVersion=${resourceVersion}`);
    await watch.until((each) => each.events.length === 1);
    watch.close();
    assert.deepEqual([watch.events[0]?.type, watch.events[0]?.object.code], ['ERROR', 410]);
    made(await server.post(events, eventNamed('three', 'short')));
    for (const each of servers) {
      const now = got(await each.get<List>(events)).metadata.resourceVersion;
      assert.deepEqual(names(got(await each.get<List>(exact(now)))), ['three']);
    }
  });

  test('their etcd has checks and metrics', async () => {
    for (const path of ['/readyz', '/healthz']) {
      const { status, text } = await server.get(`${path}?verbose`);
      assert.equal(status, 200);
      assert.match(text, /^\[\+\]etcd ok\n\[\+\]etcd-override-0 ok$/m);
    }
    const statuses = got(await server.get<List>('/api/v1/componentstatuses'));
    assert.deepEqual(
      names(statuses).filter((name) => name.startsWith('etcd')),
      ['etcd-0', 'etcd-1'],
    );
    const { text } = await server.get('/metrics');
    for (const cluster of ['etcd-0', 'etcd-1']) {
      assert.match(text, new RegExp(`^apiserver_storage_size_bytes{storage_cluster_id="${cluster}"} [1-9]`, 'm'));
    }
    const reached = (resource: string): number => {
      const series = new RegExp(`^apiserver_watch_cache_resource_version{resource="${resource}"} (\\d+)$`, 'm');
      return Number(series.exec(text)?.[1]);
    };
    assert.ok(reached('events') > 0);
    assert.notEqual(reached('events'), reached('configmaps'));
    assert.equal(reached('events'), reached('leases.coordination.k8s.io'));
    assert.match(text, /^apiserver_storage_objects\{resource="events"\} [1-9]/m);
  });

  test('without their etcd the rest is served and written', async () => {
    await other.kill();
    try {
      const refused = async (asked: Promise<Answer>): Promise<void> => {
        const { status, headers, text } = await asked;
        assert.equal(status, 503, text);
        assert.match(String(headers['retry-after']), /^\d+$/);
      };
      // That the connection is gone is known when the reads have failed: nobody has to find out what became of a write.
      await Promise.all([events, `${events}/placed`].map((path) => refused(server.get(path))));
      await Promise.all([
        refused(server.post(events, eventNamed('lost'))),
        refused(server.post(leases, { metadata: { name: 'lost' } })),
      ]);
      for (const each of servers) {
        assert.equal((await each.get(maps)).status, 200);
        assert.equal((await each.post(maps, { metadata: { name: 'written' } })).status, 201);
        assert.equal((await each.delete(`${maps}/written`)).status, 200);
        const accounts = '/api/v1/namespaces/default/serviceaccounts';
        assert.equal((await each.post(`${accounts}/default/token`, { spec: {} })).status, 201);
      }
      const { status, text } = await server.get('/readyz');
      assert.equal(status, 500);
      assert.match(text, /^\[\+\]etcd ok\n\[-\]etcd-override-0 failed: reason withheld$/m);
      for (const excluded of ['etcd', 'etcd-override-0']) {
        assert.equal((await server.get(`/readyz?exclude=${excluded}`)).status, 200);
      }
      assert.equal((await server.get('/readyz/etcd')).status, 200);
      assert.equal((await server.get('/readyz/etcd-override-0')).status, 500);
      const cached = got(await server.get<List>(`${events}?resourceVersion=0`));
      assert.ok(cached.items.length > 0);
    } finally {
      await other.start();
    }
    await until(async () => (await server.get('/readyz')).status === 200, 'the server is not ready again');
    await until(async () => (await server.post(events, eventNamed('again'))).status === 201, 'events are not written');
    assert.ok(names(got(await server.get<List>(events))).includes('again'));
  });

  test('events expire there, and secrets are encrypted there', async () => {
    const file = join(folder, 'encryption.json');
    const providers = [{ aescbc: { keys: [{ name: 'k', secret: Buffer.alloc(32, 7).toString('base64') }] } }];
    const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
    writeFileSync(file, JSON.stringify({ ...kind, resources: [{ resources: ['secrets'], providers }] }));
    const flags = [...flagsTo('/events', '/secrets'), '--etcd-prefix=/short', '--event-ttl=1s'];
    await using short = await OrchProcess.start({ flags: [...flags, `--encryption-provider-config=${file}`] });
    made(await short.post(events, eventNamed('expires')));
    made(await short.post(maps, { metadata: { name: 'stays' } }));
    const path = '/api/v1/namespaces/default/secrets';
    made(await short.post(path, { metadata: { name: 'hidden' }, stringData: { text: 'in the open' } }));
    const [record] = await recordsIn(other, '/core/secrets/default/hidden', '/short');
    assert.match(Buffer.from(record?.value ?? []).toString(), /^k8s:enc:aescbc:v1:k:/);
    assert.deepEqual(await recordsIn(main, '/core/secrets/', '/short'), []);
    await until(async () => (await short.get(`${events}/expires`)).status === 404, 'the event stays');
    assert.deepEqual(await recordsIn(other, '/core/events/default/expires', '/short'), []);
    assert.equal((await short.get(`${maps}/stays`)).status, 200);
    assert.equal((await short.get(`${path}/hidden`)).status, 200);
  });

  for (const [what, flags, text] of [
    [
      'resources that are written together with others',
      () => flagsTo('/services'),
      /--etcd-servers-overrides: services cannot be in another etcd/,
    ],
    [
      'a store that is no etcd',
      () => [`--etcd-servers-overrides=/events#${other.endpoint}`],
      /--etcd-servers-overrides goes with --storage-backend=etcd3 only/,
    ],
  ] as const) {
    test(`end the start: ${what}`, async () => {
      const args = [`--data-dir=${join(folder, 'refused')}`, '--secure-port=0', ...flags()];
      await using command = new Command('up', ...args);
      assert.notEqual(await command.exit(), 0);
      assert.match(command.err, text);
    });
  }
});
