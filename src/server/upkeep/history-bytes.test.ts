import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { noJitter } from '../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { createWatchCache } from '../../cache/watch-cache.ts';
import { rejected } from '../../store/conformance/subject.ts';
import { etcdMissing, startEtcd } from '../../store/drivers/etcd/etcd-process-fixture.ts';
import { openStore, type StoreOptions } from '../../store/open.ts';
import type { Revision, Store } from '../../store/store.ts';
import { Compactor } from './compactor.ts';

/** A client that rewrites a large object in a loop cannot fill the disk: every store limits the bytes of history. */

const mebibyte = 1024 * 1024;
const bytesMax = 8 * mebibyte;
const key = '/core/configmaps/n/a';

/** Wired as in the server: the cache applies changes and reports their bytes to the compactor. */
async function openWired(context: TestContext, options: StoreOptions) {
  const store = await openStore(options);
  const clock = new ManualClock();
  const compactor = new Compactor({ store, clock, logger: silentLogger, windowMs: 300_000, bytesMax });
  const head = await store.head();
  const cache = createWatchCache({
    random: noJitter,
    ...{ store, clock, logger: silentLogger },
    resources: [{ prefix: '/core/configmaps/', namespaced: true, selectableFields: [] }],
    historyGrew: (bytes, revision) => compactor.historyGrew(bytes, revision),
  });
  const close = async () => {
    compactor.close();
    await cache.close();
    await store.close();
  };
  context.after(close);
  await cache.ready();
  void compactor.measure(head);
  return { store, compactor, cache, close };
}

const object = (index: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      ...{ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' } },
      data: { a: String(index).padEnd(mebibyte, '.') },
    }),
  );

async function rewrite(store: Store, times: number, from?: Revision): Promise<readonly Revision[]> {
  const revisions = [from ?? (await store.create(key, object(0))).revision];
  for (let index = 1; index <= times; index++) {
    revisions.push((await store.update(key, object(index), revisions.at(-1) ?? 0)).revision);
  }
  return revisions;
}

/**
 * Less than the 150 MiB that are written. SQLite's write-ahead log takes 16 MiB of it. etcd reuses freed space in its
 * own time: under this load it stops growing at 150 MB.
 */
const sizeMax: Readonly<Record<string, number>> = { memory: 16 * mebibyte, sqlite: 48 * mebibyte, etcd: 2 ** 30 };

const places: Readonly<Record<string, (context: TestContext) => Promise<StoreOptions>>> = {
  memory: async () => ({ backend: 'memory' }),
  sqlite: async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'history-bytes-'));
    context.after(() => rmSync(folder, { recursive: true }));
    return { backend: 'sqlite', file: join(folder, 'data.db') };
  },
  etcd: async (context) => {
    const etcd = await startEtcd();
    context.after(() => etcd.stop());
    return { backend: 'etcd3', endpoints: [etcd.endpoint] };
  },
};

describe('a large object that is rewritten in a loop', () => {
  for (const [name, place] of Object.entries(places)) {
    const skip = name === 'etcd' && etcdMissing;
    test(`fills no disk: ${name}`, { skip, timeout: 120_000 }, async (context) => {
      const { store, compactor, cache } = await openWired(context, await place(context));
      const revisions = await rewrite(store, 150);
      await cache.fresh();
      await until(() => compactor.historyBytes <= bytesMax);
      // What is forgotten is swept beside the writes, and may be behind them.
      let size = 0;
      await until(
        async () => {
          size = await store.size();
          return size < (sizeMax[name] ?? 0);
        },
        () => `the store stays at ${size} bytes`,
      );
      const gone = revisions[100] ?? 0;
      await refused(() => store.get(key, gone), 'compacted');
      await rejected(store.changes(gone, new AbortController().signal)[Symbol.asyncIterator]().next(), 'compacted');
      const last = revisions.at(-2) ?? 0;
      assert.equal((await store.get(key, last))?.value.length, object(0).length, 'what is recent stays');
    });
  }

  test('counts over restarts', { timeout: 120_000 }, async (context) => {
    const options = (await places['sqlite']?.(context)) as StoreOptions;
    let revision: Revision | undefined;
    for (let start = 0; start < 12; start++) {
      const { store, cache, close } = await openWired(context, options);
      revision = (await rewrite(store, 3, revision)).at(-1);
      await cache.fresh();
      await until(async () => ((await store.historySize?.(await store.head())) as number) <= bytesMax);
      await close();
    }
  });
});

/** Waits until a read fails with the code, since compaction runs concurrently with writes. */
async function refused(read: () => Promise<unknown>, code: string): Promise<void> {
  await until(async () => {
    const failure = await read().then(
      () => undefined,
      (error) => error,
    );
    assert.ok(failure === undefined || failure.code === code, `${failure}`);
    return failure !== undefined;
  });
}
