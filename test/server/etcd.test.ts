import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import type { Store } from '../../src/store/store.ts';
import { Command } from '../support/command.ts';
import { OrchProcess, type WatchClient } from '../support/orch-process.ts';

/** The server on etcd: what clients see is what they see on any store. */

const path = '/api/v1/namespaces/default/configmaps';
const ours = 'labelSelector=of%3Dtest';

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly Item[];
}

const shown = (watch: WatchClient): readonly string[] =>
  watch.events.map(({ type, object }) => `${type} ${object.metadata.name ?? object.code}`);
const names = ({ items }: List): readonly string[] => items.map(({ metadata }) => metadata.name);

async function write(server: OrchProcess, method: 'POST' | 'PUT', name: string, data = {}): Promise<string> {
  const body = { metadata: { name, labels: { of: 'test' } }, data };
  const answer = await server.request<Item>(method, method === 'POST' ? path : `${path}/${name}`, { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.json.metadata.resourceVersion;
}

async function list(server: OrchProcess, query = ''): Promise<List> {
  const answer = await server.get<List>(`${path}?${ours}&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

describe('a server on etcd', { skip: etcdMissing, timeout: 5 * 60_000 }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  let prefixes = 0;
  /** Each test has keys of its own. */
  const newPrefix = (): string => `/test-${++prefixes}`;
  const flagsOf = (prefix: string): readonly string[] => [`--etcd-servers=${etcd.endpoint}`, `--etcd-prefix=${prefix}`];

  async function withStore<T>(prefix: string, use: (store: Store) => Promise<T>): Promise<T> {
    const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }

  test('creates, reads, changes, deletes, lists and watches', async () => {
    await using server = await OrchProcess.start({ flags: flagsOf(newPrefix()) });
    const watch = server.watch(`${path}?watch=1&${ours}`);
    await watch.until(({ status }) => status === 200);
    await write(server, 'POST', 'a', { key: '1' });
    await write(server, 'POST', 'b');
    await write(server, 'PUT', 'a', { key: '2' });
    assert.equal((await server.delete(`${path}/b`)).status, 200);
    const all = await list(server);
    assert.deepEqual(names(all), ['a']);
    assert.deepEqual((await server.get<Item>(`${path}/a`)).json.data, { key: '2' });
    await watch.until(({ events }) => events.length === 4);
    watch.close();
    assert.deepEqual(shown(watch), ['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
    const stale = { metadata: { name: 'a', resourceVersion: watch.events[0]?.object.metadata.resourceVersion } };
    assert.equal((await server.put(`${path}/a`, stale)).status, 409);
    assert.equal((await server.post(path, { metadata: { name: 'a' } })).status, 409);
    assert.match((await server.get('/readyz?verbose')).text, /^\[\+\]store ok$/m);
  });

  test('reads versions of the past, also after a restart', async () => {
    await using server = await OrchProcess.start({ flags: flagsOf(newPrefix()) });
    for (const name of ['a', 'b', 'c']) await write(server, 'POST', name, { key: '1' });
    const first = await list(server, 'limit=1');
    const { resourceVersion } = first.metadata;
    await server.delete(`${path}/b`);
    await write(server, 'PUT', 'c', { key: '2' });
    await write(server, 'POST', 'd');
    const look = async (): Promise<void> => {
      const exact = await list(server, `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
      assert.equal(exact.metadata.resourceVersion, resourceVersion);
      assert.deepEqual(names(exact), ['a', 'b', 'c']);
      assert.deepEqual(exact.items[2]?.data, { key: '1' });
      const rest = await list(server, `limit=5&continue=${first.metadata.continue}`);
      assert.equal(rest.metadata.resourceVersion, resourceVersion);
      assert.deepEqual(names(rest), ['b', 'c']);
      assert.deepEqual(names(await list(server)), ['a', 'c', 'd']);
    };
    await look();
    await server.kill();
    await server.restart();
    await look();
  });

  test('a watch goes on over a restart: nothing missing, nothing twice', async () => {
    await using server = await OrchProcess.start({ flags: flagsOf(newPrefix()) });
    const from = await write(server, 'POST', 'a');
    await write(server, 'POST', 'b');
    await server.kill();
    await server.restart();
    await write(server, 'PUT', 'a', { key: '2' });
    const watch = server.watch(`${path}?watch=1&${ours}&resourceVersion=${from}`);
    await watch.until(({ events }) => events.length === 2);
    await server.delete(`${path}/b`);
    await watch.until(({ events }) => events.length === 3);
    watch.close();
    assert.deepEqual(shown(watch), ['ADDED b', 'MODIFIED a', 'DELETED b']);
  });

  test('history that etcd no longer has is 410', async () => {
    const prefix = newPrefix();
    await using server = await OrchProcess.start({ flags: flagsOf(prefix) });
    const from = await write(server, 'POST', 'a');
    await write(server, 'POST', 'a2');
    const { metadata } = await list(server);
    const page = await server.get<List>(`${path}?${ours}&limit=1`);
    await write(server, 'POST', 'b');
    await server.kill();
    await withStore(prefix, async (store) => store.compact(await store.head()));
    await server.restart();
    const watch = server.watch(`${path}?watch=1&${ours}&resourceVersion=${from}`);
    await until(() => watch.ended, 'the watch goes on');
    assert.deepEqual(shown(watch), ['ERROR 410']);
    const gone = await server.get(`${path}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`);
    assert.equal(gone.status, 410, gone.text);
    const rest = (token = ''): string => `${path}?${ours}&limit=5&continue=${token}`;
    const expired = await server.get<List>(rest(page.json.metadata.continue));
    assert.equal(expired.status, 410, expired.text);
    assert.deepEqual(names((await server.get<List>(rest(expired.json.metadata.continue))).json), ['a2', 'b']);
    assert.deepEqual(names(await list(server)), ['a', 'a2', 'b']);
  });

  test('a value that is no object ends the watches of its kind with an error, and harms nothing else', async () => {
    const prefix = newPrefix();
    await using server = await OrchProcess.start({ flags: flagsOf(prefix) });
    await write(server, 'POST', 'a');
    const [watch, other] = [server.watch(`${path}?watch=1&${ours}`), server.watch('/api/v1/secrets?watch=1')];
    await watch.until(({ events }) => events.length === 1);
    await other.until(({ status }) => status === 200);
    await withStore(prefix, (store) => store.create('/core/configmaps/default/damaged', Buffer.from('no object')));
    await until(() => watch.ended, 'the watch goes on');
    assert.deepEqual([watch.complete, shown(watch)], [true, ['ADDED a', 'ERROR 410']]);
    assert.equal((await server.get(path)).status, 500);
    assert.equal((await server.get(`${path}/a`)).status, 200);
    assert.equal((await server.get('/api/v1/secrets')).status, 200);
    assert.equal(other.ended, false);
    other.close();
  });

  test('what one server writes, another on the same etcd reads at once, and its watches see', async () => {
    const prefix = newPrefix();
    await using one = await OrchProcess.start({ flags: flagsOf(prefix) });
    await using two = await OrchProcess.start({ flags: flagsOf(prefix) });
    const watch = two.watch(`${path}?watch=1&${ours}`);
    await watch.until(({ status }) => status === 200);
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
      const version = await write(writer, 'POST', `r${round}`);
      const read = await reader.get<Item>(`${path}/r${round}`);
      assert.deepEqual([read.status, read.json.metadata.resourceVersion], [200, version], `round ${round}`);
    }
    await watch.until(({ events }) => events.length === 20);
    watch.close();
    assert.deepEqual(
      shown(watch),
      Array.from({ length: 20 }, (_, round) => `ADDED r${round}`),
    );
  });

  test('says that it is not ready while etcd is away, and goes on when it is back', async () => {
    await using server = await OrchProcess.start({ flags: flagsOf(newPrefix()) });
    await write(server, 'POST', 'a');
    const watch = server.watch(`${path}?watch=1&${ours}`);
    await watch.until(({ events }) => events.length === 1);
    await etcd.kill();
    try {
      await until(async () => (await server.get('/readyz')).status === 500, 'ready although etcd is away');
      assert.match((await server.get('/readyz')).text, /^\[-\]store failed: reason withheld$/m);
      assert.equal((await server.get('/livez')).status, 200);
      assert.equal((await server.get(`${path}/a?resourceVersion=0`)).status, 200, 'any version is there to be read');
    } finally {
      await etcd.start();
    }
    await until(async () => (await server.get('/readyz')).status === 200, 'not ready although etcd is back');
    await write(server, 'POST', 'b');
    await watch.until(({ events }) => events.length === 2);
    watch.close();
    assert.deepEqual(shown(watch), ['ADDED a', 'ADDED b']);
  });

  test('data of the other dialect is not served, and not touched', async () => {
    const prefix = newPrefix();
    await using server = await OrchProcess.start({ flags: flagsOf(prefix) });
    await write(server, 'POST', 'a');
    await server.stop();
    const flags = [`--data-dir=${server.dataDir}`, '--secure-port=0', '--dialect=kubernetes', ...flagsOf(prefix)];
    await using other = new Command('up', ...flags);
    assert.equal(await other.exit(), 1);
    assert.match(other.err, /the data was written with --dialect=orch/);
    await server.restart();
    assert.deepEqual(names(await list(server)), ['a']);
  });
});
