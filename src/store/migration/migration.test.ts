import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock, systemClock } from '../../base/time/clock.ts';
import { DecoratedStore } from '../decorated-store.ts';
import { openMemoryStore } from '../drivers/memory/memory-store.ts';
import { openSqliteStore } from '../drivers/sqlite/sqlite-store.ts';
import { asClaimed } from '../moved-revisions.ts';
import { type BatchWrite, type Store, StoreError, type StoreRecord } from '../store.ts';
import { claimKey, formatClaim, parseClaim } from '../store-claim.ts';
import { takeInventory } from './copy-records.ts';
import { migrateToEtcd } from './migrate-to-etcd.ts';
import { migrateToSqlite } from './migrate-to-sqlite.ts';
import { requireUnused, requireUnwritten } from './unused-source.ts';

const keys = [
  '/.claims/ip/10.0.0.1',
  ...Array.from({ length: 250 }, (_, n) => `/core/configmaps/default/c${n}`),
  '/é/x',
];
const noProgress = (): void => {};

/** A store with records of several sizes, some written twice, one deleted; its head is above the number of its records. */
async function filled(store: Store): Promise<Store> {
  await store.create(claimKey, formatClaim({ type: 'served', dialect: 'orch', moved: undefined }));
  await store.create('/.servers/one/1', Buffer.from('{}'));
  await store.create('/.apiservers/10.0.0.9', Buffer.from('{}'));
  for (const [index, key] of keys.entries()) {
    const { revision } = await store.create(key, Buffer.alloc(index * 7, index));
    if (index % 3 === 0) await store.update(key, Buffer.from(`again ${key}`), revision);
  }
  const { revision } = await store.create('/core/pods/a/gone', Buffer.from('x'));
  await store.delete('/core/pods/a/gone', revision);
  return store;
}

const contentOf = async (store: Store): Promise<readonly (readonly [string, string])[]> => {
  const { records } = await store.list('/');
  return records
    .filter(({ key }) => key !== claimKey && !/^\/\.(api)?servers\//.test(key))
    .map(({ key, value }) => [key, Buffer.from(value).toString('base64')]);
};
const revisionsOf = async (store: Store): Promise<readonly number[]> =>
  (await store.list('/')).records.map(({ revision }: StoreRecord) => revision);

function directory(context: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'orch-migration-'));
  context.after(() => rmSync(made, { recursive: true }));
  return made;
}

/** Ends after some batches, as a process does that is killed. */
class EndingStore extends DecoratedStore {
  left: number;
  constructor(store: Store, left: number) {
    super(store);
    this.left = left;
  }
  override batch(writes: readonly BatchWrite[]) {
    if (this.left-- <= 0) throw new StoreError('unavailable', 'the line is cut');
    return super.batch(writes);
  }
}

describe('a migration to a store that counts revisions by itself', () => {
  it('copies all records as they are, and goes on above the revisions of the source, once and again', async () => {
    const source = await filled(openMemoryStore({ revision: 1_000_000_000_000 }));
    const at = await source.head();
    const raw = openMemoryStore({ batchRevisions: 'shared' });
    const { records, resumed, revision } = await migrateToEtcd({
      ...{ source: { store: source, at, dialect: 'orch' }, target: raw, progress: noProgress },
    });
    assert.deepEqual([records, resumed], [keys.length, false]);
    const target = await asClaimed(raw);
    assert.equal(await target.head(), revision);
    assert.deepEqual(await contentOf(target), await contentOf(source));
    for (const each of await revisionsOf(target)) assert.ok(each > at, `${each} is not above ${at}`);
    // Clients of the source list again.
    await assert.rejects(target.get('/é/x', at), { code: 'compacted' });
    await assert.rejects(
      async () => {
        for await (const _ of target.changes(at, AbortSignal.timeout(1_000))) break;
      },
      { code: 'compacted' },
    );
    // It can be moved again, from the revisions that it has by now.
    const second = openMemoryStore();
    const now = await target.head();
    await migrateToEtcd({
      ...{ source: { store: target, at: now, dialect: 'orch' }, target: second, progress: noProgress },
    });
    const moved = await asClaimed(second);
    assert.ok((await moved.head()) > now);
    assert.deepEqual(await contentOf(moved), await contentOf(source));
  });

  it('is continued after a break from the same state, wherever it ended, and refused from another', async () => {
    const source = await filled(openMemoryStore());
    const at = await source.head();
    for (const batches of [0, 1, 2]) {
      const raw = openMemoryStore();
      const ending = new EndingStore(raw, batches);
      const migration = { source: { store: source, at, dialect: 'orch' }, progress: noProgress };
      await assert.rejects(migrateToEtcd({ ...migration, target: ending }), { code: 'unavailable' });
      const claim = await raw.get(claimKey);
      assert.equal(claim && parseClaim(claim.value).type, 'unfinished');
      const other = await filled(openMemoryStore());
      await other.create('/core/more/a', Buffer.from('1'));
      await assert.rejects(
        migrateToEtcd({ ...migration, source: { store: other, at: await other.head(), dialect: 'orch' }, target: raw }),
        { code: 'conflict', message: /part of another state/ },
      );
      const done: number[] = [];
      const { resumed } = await migrateToEtcd({
        ...migration,
        target: raw,
        progress: ({ phase, done: now }) => void (phase === 'copy' && done.push(now)),
      });
      assert.deepEqual([resumed, done[0], done.at(-1)], [batches > 0, batches * 100, keys.length]);
      assert.deepEqual(await contentOf(await asClaimed(raw)), await contentOf(source));
    }
  });

  it('refuses a target that holds anything, and leaves it as it is', async () => {
    const source = await filled(openMemoryStore());
    const target = openMemoryStore();
    await target.create('/x/y', Buffer.from('1'));
    const head = await target.head();
    const migration = {
      source: { store: source, at: await source.head(), dialect: 'orch' },
      target,
      progress: noProgress,
    };
    await assert.rejects(migrateToEtcd(migration), { code: 'exists', message: /holds 1 records/ });
    assert.equal(await target.head(), head);
  });
});

describe('a migration to a data file', () => {
  it('copies all records as they are, and goes on above the revisions of the source', async (context) => {
    const to = join(directory(context), 'orch.db');
    const source = await filled(openMemoryStore({ revision: 5_000 }));
    const at = await source.head();
    const from = { store: source, at, dialect: 'orch' };
    const inventory = await takeInventory(from, noProgress);
    const confirm = () => requireUnwritten(source, at);
    const revision = await migrateToSqlite({
      ...{ source: from, to, clock: systemClock, inventory, progress: noProgress, confirm },
    });
    const target = await openSqliteStore({ file: to });
    try {
      assert.equal(await target.head(), revision, 'it is no copy');
      assert.deepEqual(await contentOf(target), await contentOf(source));
      for (const each of await revisionsOf(target)) assert.ok(each > at, `${each} is not above ${at}`);
      await assert.rejects(target.get('/é/x', at), { code: 'compacted' });
      const claim = await target.get(claimKey);
      assert.deepEqual(claim && Buffer.from(claim.value).toString(), 'orch');
      const { revision: next } = await target.create('/core/new/a', Buffer.from('1'));
      assert.ok(next > revision);
    } finally {
      await target.close();
    }
  });

  it('leaves nothing where the source is written to meanwhile', async (context) => {
    const folder = directory(context);
    const to = join(folder, 'orch.db');
    const source = await filled(openMemoryStore());
    const at = await source.head();
    const from = { store: source, at, dialect: 'orch' };
    const inventory = await takeInventory(from, noProgress);
    const confirm = async () => {
      await source.create('/core/late/a', Buffer.from('1'));
      await requireUnwritten(source, at);
    };
    await assert.rejects(
      migrateToSqlite({ ...{ source: from, to, clock: systemClock, inventory, progress: noProgress, confirm } }),
      { code: 'conflict', message: /\/core\/late\/a was written while it was copied/ },
    );
    assert.equal(existsSync(to), false);
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe('a source whose servers may be running', () => {
  for (const [what, key, name] of [
    ['a server', '/.servers/host-1/1b671a64', 'host-1'],
    ['a server of the release before', '/.apiservers/10.0.0.1', '10.0.0.1'],
  ] as const) {
    it(`is in use if the key of ${what} is renewed, and not if there is none, or it stays as it is`, async () => {
      const clock = new ManualClock();
      const store = openMemoryStore();
      const waited: string[] = [];
      const look = (meanwhile?: () => Promise<unknown>) =>
        requireUnused(store, {
          ...{ clock, leaseMs: 15_000 },
          waiting(names) {
            waited.push(names.join());
            void Promise.resolve(meanwhile?.()).then(() => clock.advance(1_000));
          },
        });
      await look();
      assert.deepEqual(waited, []);
      const { revision } = await store.create(key, Buffer.from('{}'));
      assert.equal(await look(), revision);
      assert.deepEqual(
        waited,
        Array.from({ length: 15 }, () => name),
      );
      const renewed = look(() => store.update(key, Buffer.from('{ }'), revision));
      await assert.rejects(renewed, { code: 'unavailable', message: `it is in use by the servers at ${name}` });
    });
  }

  for (const alarm of ['NOSPACE', 'CORRUPT']) {
    it(`may be in use while ${alarm} is raised, be it before, during or after the looks`, async () => {
      const clock = new ManualClock();
      const store = openMemoryStore();
      const { revision } = await store.create('/.servers/host-1/1', Buffer.from('{}'));
      let raised = true;
      const { head, list, changes } = store;
      const source = {
        ...{ head: head.bind(store), list: list.bind(store), changes: changes.bind(store) },
        alarms: async () => (raised ? [alarm] : []),
      };
      const waiting = () => {
        raised = true;
        void Promise.resolve().then(() => clock.advance(1_000));
      };
      const refused = {
        code: 'full',
        message: `etcd has raised the alarm ${alarm}: its servers cannot tell that they are running`,
        remedy: /^stop all of them.*etcdctl alarm disarm.*, and try again$/,
      };
      await assert.rejects(
        requireUnused(source, { clock, leaseMs: 15_000, waiting: () => assert.fail('there is nothing to wait for') }),
        refused,
      );
      raised = false;
      await assert.rejects(requireUnused(source, { clock, leaseMs: 15_000, waiting }), refused);
      await assert.rejects(requireUnwritten(source, revision), refused);
      raised = false;
      await requireUnwritten(source, revision);
    });
  }

  it('is in use if a server comes after the last look, and not if one goes', async () => {
    const store = openMemoryStore();
    const { revision } = await store.create('/.servers/host-1/1', Buffer.from('{}'));
    const looked: Store['list'] = async (prefix) => {
      const page = await store.list(prefix);
      // Stops while it is looked for.
      if (prefix === '/.apiservers/') await store.delete('/.servers/host-1/1', revision).catch(() => {});
      return page;
    };
    const [clock, waiting] = [new ManualClock(), () => assert.fail('nothing is left to wait for')];
    const at = await requireUnused({ head: () => store.head(), list: looked }, { clock, leaseMs: 15_000, waiting });
    await requireUnwritten(store, at);
    await requireUnwritten(store, revision);
    await store.create('/.servers/host-2/2', Buffer.from('{}'));
    await assert.rejects(requireUnwritten(store, at), { code: 'conflict', message: /host-2/ });
  });
});

describe('the claim of a store', () => {
  const claims = {
    orch: { type: 'served', dialect: 'orch', moved: undefined },
    'orch revisions=5,9': { type: 'served', dialect: 'orch', moved: { by: 5, floor: 9 } },
    'unfinished-migration abc': { type: 'unfinished', source: 'abc' },
  } as const;
  for (const [text, claim] of Object.entries(claims)) {
    it(`is ${text}`, () => {
      assert.equal(formatClaim(claim).toString(), text);
      assert.deepEqual(parseClaim(Buffer.from(text)), claim);
    });
  }
  it('of a later program is no dialect of this one', () => {
    assert.deepEqual(parseClaim(Buffer.from('orch format=2')), {
      type: 'served',
      dialect: 'orch format=2',
      moved: undefined,
    });
  });
});
