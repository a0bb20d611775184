import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { openStore } from '../../src/store/open.ts';
import { OrchProcess, type WatchClient, type WatchEvent } from '../support/orch-process.ts';

/** Watches (spec sections 4.4 and 4.5) of a running server, over HTTPS. */

const timeout = 30_000;
const endOfState = 'orch.io/initial-events-end';

/** An event as it reads best: `ADDED a`; of a bookmark, whether it ends the state. */
const shown = ({ type, object }: WatchEvent): string => {
  if (type !== 'BOOKMARK') return `${type} ${object.metadata.name ?? object.code}`;
  const annotations = object.metadata['annotations'] as Readonly<Record<string, string>> | undefined;
  return annotations?.[endOfState] === 'true' ? 'BOOKMARK end of state' : 'BOOKMARK';
};
const allShown = (watch: WatchClient): readonly string[] => watch.events.map(shown);

interface Written {
  readonly metadata: { readonly resourceVersion: string };
}

/** Config maps of a namespace of its own, for one test each. */
class Place {
  readonly path: string;
  readonly #server: OrchProcess;

  private constructor(server: OrchProcess, name: string) {
    this.#server = server;
    this.path = `/api/v1/namespaces/${name}/configmaps`;
  }

  static async make(server: OrchProcess, name: string): Promise<Place> {
    await server.post('/api/v1/namespaces', { metadata: { name } });
    const place = new Place(server, name);
    // What every namespace gets is there before anything is counted.
    const root = `${place.path}/orch-root-ca.crt`;
    await until(async () => (await server.get(root)).status === 200, `no ${root}`);
    return place;
  }

  async create(name: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#version(
      await this.#server.post<Written>(this.path, { metadata: { name, labels: { of: 'test', ...labels } } }),
    );
  }

  async change(name: string, labels: Readonly<Record<string, string>> = {}, data = {}): Promise<string> {
    const body = { metadata: { name, labels: { of: 'test', ...labels } }, data };
    return this.#version(await this.#server.put<Written>(`${this.path}/${name}`, body));
  }

  async delete(name: string): Promise<void> {
    assert.equal((await this.#server.delete(`${this.path}/${name}`)).status, 200);
  }

  #version({ status, text, json }: { readonly status: number; readonly text: string; readonly json: Written }): string {
    assert.ok(status < 300, text);
    return json.metadata.resourceVersion;
  }

  /** Of the test's own objects, unless the query selects otherwise. */
  watch(query = ''): WatchClient {
    const selection = query.includes('Selector') ? '' : '&labelSelector=of%3Dtest';
    return this.#server.watch(`${this.path}?watch=1${selection}&${query}`);
  }
}

describe('watch', { timeout: 5 * 60_000 }, () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  describe('each start', () => {
    /** a and b are there, and b was changed after `old`; c comes later. What is seen. */
    const starts: readonly (readonly [name: string, query: string, expected: readonly string[]])[] = [
      ['unset', '', ['ADDED a', 'ADDED b']],
      ['zero', 'resourceVersion=0', ['ADDED a', 'ADDED b']],
      ['old', 'resourceVersion=OLD', ['MODIFIED b']],
      ['now', 'resourceVersion=NOW', []],
      ['bookmarks', 'allowWatchBookmarks=true', ['ADDED a', 'ADDED b']],
      [
        'state',
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
        ['ADDED a', 'ADDED b', 'BOOKMARK end of state'],
      ],
      [
        'state-zero',
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0',
        ['ADDED a', 'ADDED b', 'BOOKMARK end of state'],
      ],
      [
        'state-old',
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=OLD',
        ['ADDED a', 'ADDED b', 'BOOKMARK end of state'],
      ],
      ['state-unmarked', 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan', ['ADDED a', 'ADDED b']],
      ['no-state', 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan', []],
      ['no-state-old', 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=OLD', ['MODIFIED b']],
    ];
    for (const [name, query, expected] of starts) {
      test(`?${query}`, { timeout }, async () => {
        const place = await Place.make(server, `start-${name}`);
        await place.create('a');
        const old = await place.create('b');
        const now = await place.change('b', {}, { changed: 'yes' });
        const watch = place.watch(query.replace('OLD', old).replace('NOW', now));
        await watch.until(({ status, events }) => status === 200 && events.length >= expected.length);
        await place.create('c');
        await watch.until(({ events }) => events.some(({ object }) => object.metadata.name === 'c'));
        watch.close();
        assert.deepEqual(allShown(watch), [...expected, 'ADDED c']);
        const bookmark = watch.events.find(({ type }) => type === 'BOOKMARK')?.object;
        if (bookmark) {
          assert.ok(Number(bookmark.metadata.resourceVersion) >= Number(now));
          assert.equal(bookmark.kind, 'ConfigMap');
        }
      });
    }

    test('at a version that is not there yet: it waits, and repeats nothing', { timeout }, async () => {
      const place = await Place.make(server, 'start-future');
      const now = Number(await place.create('a'));
      const watch = place.watch(`resourceVersion=${now + 1}`);
      await watch.until(({ status }) => status === 200);
      // The version that was not there is that of the next write, unless a controller came before.
      const next = Number(await place.create('b'));
      const later = await place.create('c');
      await watch.until(({ events }) => events.some(({ object }) => object.metadata.name === 'c'));
      watch.close();
      assert.deepEqual(allShown(watch), next > now + 1 ? ['ADDED b', 'ADDED c'] : ['ADDED c']);
      assert.equal(watch.events.at(-1)?.object.metadata.resourceVersion, later);
    });

    test('a state that is to be newer than all is 504', { timeout }, async () => {
      const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999999';
      const answer = await server.get<{ message: string }>(`/api/v1/configmaps?${query}`);
      assert.equal(answer.status, 504);
      assert.match(answer.json.message, /Too large resource version/);
      assert.equal(answer.headers['retry-after'], '1');
    });
  });

  test('what it says of an object is what a GET says, also of a deleted one', { timeout }, async () => {
    const place = await Place.make(server, 'objects');
    const watch = place.watch();
    await watch.until(({ status }) => status === 200);
    await place.create('a');
    const created = await server.get(`${place.path}/a`);
    await place.change('a', {}, { key: 'value' });
    const changed = await server.get(`${place.path}/a`);
    await place.delete('a');
    await watch.until(({ events }) => events.length === 3);
    watch.close();
    assert.deepEqual(allShown(watch), ['ADDED a', 'MODIFIED a', 'DELETED a']);
    const [added, modified, deleted] = watch.events.map(({ object }) => object);
    assert.deepEqual(added, created.json);
    assert.deepEqual(modified, changed.json);
    assert.deepEqual(deleted?.['data'], { key: 'value' }, 'the last state');
    assert.ok(
      Number(deleted?.metadata.resourceVersion) > Number(modified?.metadata.resourceVersion),
      'at its deletion',
    );
  });

  test('of one object, of a namespace, of all', { timeout }, async () => {
    const [place, other] = [await Place.make(server, 'scope'), await Place.make(server, 'other-scope')];
    const [one, here, all] = [
      place.watch('fieldSelector=metadata.name%3Da'),
      place.watch(),
      server.watch('/api/v1/configmaps?watch=1&labelSelector=scope'),
    ];
    for (const watch of [one, here, all]) await watch.until(({ status }) => status === 200);
    await place.create('a', { scope: '' });
    await place.create('b', { scope: '' });
    await other.create('a', { scope: '' });
    await all.until(({ events }) => events.length === 3);
    await here.until(({ events }) => events.length === 2);
    await one.until(({ events }) => events.length === 1);
    for (const watch of [one, here, all]) watch.close();
    assert.deepEqual(allShown(one), ['ADDED a']);
    assert.deepEqual(allShown(here), ['ADDED a', 'ADDED b']);
    assert.deepEqual(
      all.events.map(({ object }) => `${object.metadata['namespace']}/${object.metadata.name}`),
      ['scope/a', 'scope/b', 'other-scope/a'],
    );
  });

  describe('a selector', () => {
    test('that begins and ceases to match shows ADDED and DELETED', { timeout }, async () => {
      const place = await Place.make(server, 'labels');
      const watch = place.watch('labelSelector=color%20in%20(red,blue)');
      await watch.until(({ status }) => status === 200);
      await place.create('a', { color: 'red' });
      await place.create('never', { color: 'green' });
      await place.change('a', { color: 'blue' });
      await place.change('a', { color: 'green' });
      await place.change('a', { color: 'grey' });
      await place.change('a', { color: 'red' });
      await place.delete('never');
      await place.delete('a');
      await watch.until(({ events }) => events.length === 5);
      watch.close();
      assert.deepEqual(allShown(watch), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']);
      const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
      assert.deepEqual(
        versions,
        [...new Set(versions)].sort((a, b) => a - b),
        'each at its own version, in order',
      );
      const left = watch.events[2]?.object.metadata['labels'] as Readonly<Record<string, string>>;
      assert.equal(left['color'], 'blue', 'the last state that matched');
    });

    test('on a field does so as well', { timeout }, async () => {
      const path = '/api/v1/namespaces/default/pods';
      const watch = server.watch(`${path}?watch=1&fieldSelector=status.phase%3DPending`);
      await watch.until(({ status }) => status === 200);
      const spec = { containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false };
      const { json, text, status } = await server.post(path, { metadata: { name: 'p' }, spec });
      assert.equal(status, 201, text);
      const running = await server.put(`${path}/p/status`, { ...json, status: { phase: 'Running' } });
      assert.equal(running.status, 200, running.text);
      await watch.until(({ events }) => events.length === 2);
      watch.close();
      assert.deepEqual(allShown(watch), ['ADDED p', 'DELETED p']);
    });
  });

  describe('the end', () => {
    test('comes when the client says, with a last bookmark where these are allowed', { timeout }, async () => {
      const place = await Place.make(server, 'timeouts');
      const version = await place.create('a');
      const [plain, marked] = [
        place.watch('timeoutSeconds=1'),
        place.watch('timeoutSeconds=1&allowWatchBookmarks=true'),
      ];
      const startedAt = systemClock.monotonic();
      await until(() => plain.ended && marked.ended, 'the watches did not end');
      const tookMs = systemClock.monotonic() - startedAt;
      assert.ok(tookMs >= 900 && tookMs < 5_000, `${tookMs} ms`);
      assert.deepEqual([plain.complete, marked.complete], [true, true], 'ended in order');
      assert.deepEqual(allShown(plain), ['ADDED a']);
      assert.deepEqual(allShown(marked), ['ADDED a', 'BOOKMARK']);
      const bookmark = marked.events[1]?.object;
      assert.ok(Number(bookmark?.metadata.resourceVersion) >= Number(version));
      assert.deepEqual([bookmark?.kind, bookmark?.['data']], ['ConfigMap', undefined]);
    });

    test('where a watch ended, another goes on: nothing missing, nothing twice', { timeout }, async () => {
      const place = await Place.make(server, 'resume');
      const first = place.watch('timeoutSeconds=1&allowWatchBookmarks=true');
      await place.create('a');
      await until(() => first.ended, 'the watch did not end');
      const from = first.events.at(-1)?.object.metadata.resourceVersion;
      assert.ok(from !== undefined);
      await place.create('b');
      await place.delete('a');
      const second = place.watch(`resourceVersion=${from}`);
      await second.until(({ events }) => events.length === 2);
      second.close();
      assert.deepEqual(allShown(second), ['ADDED b', 'DELETED a']);
    });
  });

  describe('what cannot be watched so', () => {
    for (const [query, message] of [
      ['resourceVersion=abc', /invalid resource version/],
      ['sendInitialEvents=true', /requires setting resourceVersionMatch/],
      ['resourceVersionMatch=NotOlderThan&resourceVersion=1', /unless sendInitialEvents is provided/],
      ['continue=abc', /continue is forbidden for watch/],
      ['labelSelector=a%3D%3D%3Db', /./],
      ['fieldSelector=data.x%3D1', /is not a known field selector/],
      ['timeoutSeconds=soon', /timeoutSeconds/],
      ['allowWatchBookmarks=perhaps', /allowWatchBookmarks/],
    ] as const) {
      test(`?${query}`, { timeout }, async () => {
        const answer = await server.get<{ message: string }>(`/api/v1/configmaps?watch=1&${query}`);
        assert.equal(answer.status, 400, answer.text);
        assert.match(answer.json.message, message);
      });
    }
  });
});

describe('a watch over restarts', { timeout: 60_000 }, () => {
  test('goes on where it was, with what happened while it was away', async () => {
    await using server = await OrchProcess.start();
    const place = await Place.make(server, 'restarts');
    const from = await place.create('a');
    const watch = place.watch(`resourceVersion=${from}`);
    await watch.until(({ status }) => status === 200);
    await place.create('b');
    await place.change('b', {}, { key: 'value' });
    await place.delete('a');
    await watch.until(({ events }) => events.length === 3);
    assert.equal(await server.stop(), 0);
    await until(() => watch.ended, 'the watch outlived its server');
    assert.deepEqual([watch.complete, allShown(watch)], [true, ['ADDED b', 'MODIFIED b', 'DELETED a']]);
    await server.restart();
    await place.create('c');
    const again = place.watch(`resourceVersion=${from}`);
    await again.until(({ events }) => events.length === 4);
    again.close();
    assert.deepEqual(allShown(again), [...allShown(watch), 'ADDED c']);
    assert.deepEqual(again.events.slice(0, 3), watch.events);
    const later = place.watch(`resourceVersion=${watch.events[1]?.object.metadata.resourceVersion}`);
    await later.until(({ events }) => events.length === 2);
    later.close();
    assert.deepEqual(allShown(later), ['DELETED a', 'ADDED c']);
  });

  test('that waits for a version to come is told of none', async () => {
    await using server = await OrchProcess.start();
    const place = await Place.make(server, 'future');
    const now = Number(await place.create('a'));
    const watch = place.watch(`resourceVersion=${now + 1_000}&allowWatchBookmarks=true&timeoutSeconds=2`);
    await watch.until(({ status }) => status === 200);
    await place.create('b');
    await until(() => watch.ended, 'the watch goes on');
    assert.ok(watch.complete);
    assert.deepEqual(allShown(watch), []);
    const reached = place.watch(`resourceVersion=${now}&allowWatchBookmarks=true&timeoutSeconds=2`);
    await until(() => reached.ended, 'the watch goes on');
    assert.deepEqual(allShown(reached), ['ADDED b', 'BOOKMARK']);
  });

  test('is told that its version is gone, once history is', async () => {
    await using server = await OrchProcess.start();
    const place = await Place.make(server, 'compacted');
    const from = await place.create('a');
    await place.create('b');
    assert.equal(await server.stop(), 0);
    const file = join(server.dataDir, 'orch.db');
    const store = await openStore({ backend: 'sqlite', file, logger: silentLogger });
    await store.compact(await store.head());
    await store.close();
    await server.restart();
    const watch = place.watch(`resourceVersion=${from}`);
    await until(() => watch.ended, 'the watch goes on');
    assert.equal(watch.status, 200);
    const [only, ...more] = watch.events;
    assert.deepEqual(more, []);
    assert.deepEqual([only?.type, only?.object.kind, only?.object.code], ['ERROR', 'Status', 410]);
    assert.equal(only?.object['reason'], 'Expired');
    const exact = await server.get<{ reason: string }>(
      `${place.path}?resourceVersion=${from}&resourceVersionMatch=Exact`,
    );
    assert.deepEqual([exact.status, exact.json.reason], [410, 'Expired']);
    const fresh = place.watch();
    await fresh.until(({ events }) => events.length === 2);
    fresh.close();
    assert.deepEqual(allShown(fresh), ['ADDED a', 'ADDED b'], 'a new watch starts from the state');
  });
});
