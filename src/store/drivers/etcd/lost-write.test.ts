import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import {
  type BatchWrite,
  isStoreError,
  type Revision,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreRecord,
} from '../../store.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { type EtcdProxy, type Fate, type Loss, pass, startEtcdProxy } from './etcd-proxy-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { hurriedClock } from './faulty-network-fixture.ts';

/**
 * Writes whose response is lost, on a real etcd. `store` writes through a proxy; `direct` is another server on the same
 * etcd.
 */

const key = '/a';
const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (record: StoreRecord | undefined): string | undefined => record && Buffer.from(record.value).toString();

type Verb = 'create' | 'update' | 'delete';
/** `batch`: in one batch with a write of each verb to separate keys, which no other client touches. */
type Company = 'alone' | 'batch';

interface Place {
  readonly proxy: EtcdProxy;
  readonly store: Store;
  readonly direct: Store;
  /** The revision of the record before the write; 0 for create. */
  readonly expected: Revision;
  /** The other keys changed by batches. */
  readonly beside: readonly Revision[];
}

/** What other clients do with the key meanwhile. */
type Others = (direct: Store) => Promise<unknown>;

const current = async (direct: Store): Promise<StoreRecord> =>
  (await direct.get(key)) ?? assert.fail('it is not there');
const overwrite: Others = async (direct) => direct.update(key, bytes('others'), (await current(direct)).revision);
const overwriteTwice: Others = async (direct) => {
  await overwrite(direct);
  await overwrite(direct);
};
const remove: Others = async (direct) => direct.delete(key, (await current(direct)).revision);
const recreate: Others = (direct) => direct.create(key, bytes('others'));
const removeAndRecreate: Others = async (direct) => {
  await remove(direct);
  await recreate(direct);
};
const overwriteAndRemove: Others = async (direct) => {
  await overwrite(direct);
  await remove(direct);
};
const makeAndRemove: Others = async (direct) => {
  await recreate(direct);
  await remove(direct);
};
/** The same bytes on the same state. */
const writeTheSame: Others = async (direct) => {
  const found = await direct.get(key);
  return found ? direct.update(key, bytes('mine'), found.revision) : direct.create(key, bytes('mine'));
};

interface Row {
  readonly verb: Verb;
  readonly what: string;
  readonly done: boolean;
  readonly others?: Others;
  /** `done`: with the revision of the write; otherwise the error code. */
  readonly outcome: 'done' | StoreErrorCode;
  /** The final value; undefined: the key does not exist. */
  readonly end: string | undefined;
}

const rows: readonly Row[] = [
  { verb: 'create', what: 'done', done: true, outcome: 'done', end: 'mine' },
  { verb: 'create', what: 'done, overwritten', done: true, others: overwriteTwice, outcome: 'done', end: 'others' },
  { verb: 'create', what: 'done, removed', done: true, others: remove, outcome: 'done', end: undefined },
  { verb: 'create', what: 'done, made anew', done: true, others: removeAndRecreate, outcome: 'done', end: 'others' },
  { verb: 'create', what: 'not done', done: false, outcome: 'unknownOutcome', end: undefined },
  {
    verb: 'create',
    what: 'not done, made by others',
    done: false,
    others: recreate,
    outcome: 'unknownOutcome',
    end: 'others',
  },
  {
    verb: 'create',
    what: 'not done, made and removed',
    done: false,
    others: makeAndRemove,
    outcome: 'unknownOutcome',
    end: undefined,
  },
  {
    verb: 'create',
    what: 'not done, the same by others',
    done: false,
    others: writeTheSame,
    outcome: 'unknownOutcome',
    end: 'mine',
  },
  { verb: 'update', what: 'done', done: true, outcome: 'done', end: 'mine' },
  { verb: 'update', what: 'done, overwritten', done: true, others: overwriteTwice, outcome: 'done', end: 'others' },
  { verb: 'update', what: 'done, removed', done: true, others: remove, outcome: 'done', end: undefined },
  { verb: 'update', what: 'done, made anew', done: true, others: removeAndRecreate, outcome: 'done', end: 'others' },
  { verb: 'update', what: 'not done', done: false, outcome: 'done', end: 'mine' },
  {
    verb: 'update',
    what: 'not done, overwritten',
    done: false,
    others: overwriteTwice,
    outcome: 'conflict',
    end: 'others',
  },
  { verb: 'update', what: 'not done, removed', done: false, others: remove, outcome: 'notFound', end: undefined },
  {
    verb: 'update',
    what: 'not done, made anew',
    done: false,
    others: removeAndRecreate,
    outcome: 'notFound',
    end: 'others',
  },
  {
    verb: 'update',
    what: 'not done, the same by others',
    done: false,
    others: writeTheSame,
    outcome: 'conflict',
    end: 'mine',
  },
  { verb: 'delete', what: 'done', done: true, outcome: 'done', end: undefined },
  { verb: 'delete', what: 'done, made anew', done: true, others: recreate, outcome: 'done', end: 'others' },
  {
    verb: 'delete',
    what: 'done, made anew and removed',
    done: true,
    others: makeAndRemove,
    outcome: 'done',
    end: undefined,
  },
  { verb: 'delete', what: 'not done', done: false, outcome: 'done', end: undefined },
  { verb: 'delete', what: 'not done, overwritten', done: false, others: overwrite, outcome: 'conflict', end: 'others' },
  {
    verb: 'delete',
    what: 'not done, overwritten and removed',
    done: false,
    others: overwriteAndRemove,
    outcome: 'conflict',
    end: undefined,
  },
  {
    verb: 'delete',
    what: 'not done, the same by others',
    done: false,
    others: remove,
    outcome: 'notFound',
    end: undefined,
  },
  {
    verb: 'delete',
    what: 'not done, made anew',
    done: false,
    others: removeAndRecreate,
    outcome: 'notFound',
    end: 'others',
  },
];

describe('a write whose response is lost', { skip: etcdMissing }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  let prefixes = 0;
  const openPlace = async (context: TestContext, verb: Verb, clock = systemClock): Promise<Place> => {
    const prefix = `/lost-${++prefixes}`;
    const proxy = await startEtcdProxy(etcd.endpoint);
    const store = await openEtcdStore({ endpoints: [proxy.endpoint], prefix, clock });
    const direct = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
    context.after(async () => {
      await Promise.all([store.close(), direct.close()]);
      await proxy.close();
    });
    const expected = verb === 'create' ? 0 : (await store.create(key, bytes('before'))).revision;
    const beside: Revision[] = [];
    for (const name of ['/changed', '/gone']) beside.push((await store.create(name, bytes('before'))).revision);
    return { proxy, store, direct, expected, beside };
  };

  const write = (place: Place, verb: Verb, company: Company = 'alone'): Promise<{ readonly revision: Revision }> =>
    company === 'batch' ? writeBatch(place, verb) : writeAlone(place, verb);

  const writeAlone = ({ store, expected }: Place, verb: Verb): Promise<{ readonly revision: Revision }> => {
    switch (verb) {
      case 'create':
        return store.create(key, bytes('mine'));
      case 'update':
        return store.update(key, bytes('mine'), expected);
      case 'delete':
        return store.delete(key, expected);
    }
  };

  /** A batch of creations if the write is one, so that nothing else reveals its outcome. */
  const writeBatch = async (place: Place, verb: Verb): Promise<{ readonly revision: Revision }> => {
    const { store, expected, beside } = place;
    const [changed = 0, gone = 0] = beside;
    const value = bytes('mine');
    const writes: BatchWrite[] = [verb === 'delete' ? { verb, key, expected } : { verb, key, value, expected }];
    writes.push({ verb: 'create', key: '/new', value });
    if (verb !== 'create') {
      writes.unshift({ verb: 'update', key: '/changed', value, expected: changed });
      writes.push({ verb: 'delete', key: '/gone', expected: gone });
    }
    const committed = await store.batch(writes);
    assert.equal(new Set(committed.map(({ revision }) => revision)).size, 1);
    return committed[0] ?? assert.fail();
  };

  /** Whether the rest of a batch was done: all of it or nothing. */
  const restIsDone = async ({ direct }: Place, verb: Verb): Promise<boolean> => {
    const { records } = await direct.list('/');
    const rest = records.filter((record) => record.key !== key).map((record) => `${record.key} ${text(record)}`);
    const isDone = rest.includes('/new mine');
    const done = verb === 'create' ? ['/changed before', '/gone before', '/new mine'] : ['/changed mine', '/new mine'];
    assert.deepEqual(rest, isDone ? done : ['/changed before', '/gone before']);
    return isDone;
  };

  /** Its revision, or the code of its error. */
  const outcomeOf = async (writing: Promise<{ readonly revision: Revision }>): Promise<Revision | StoreErrorCode> =>
    writing.then(
      ({ revision }) => revision,
      (error: unknown) => {
        if (error instanceof StoreError) return error.code;
        throw error;
      },
    );

  const only = (place: Place, fate: Fate): void => {
    place.proxy.fate = () => {
      place.proxy.fate = () => pass;
      return fate;
    };
  };

  for (const { as, company } of [
    { as: 'cut', company: 'alone' },
    { as: 'reset', company: 'alone' },
    { as: 'timeout', company: 'alone' },
    { as: 'cut', company: 'batch' },
    { as: 'timeout', company: 'batch' },
  ] as const satisfies readonly { readonly as: Loss; readonly company: Company }[]) {
    describe(`as the store sees it: ${as}${company === 'batch' ? ', in a batch' : ''}`, () => {
      for (const row of rows) {
        test(`${row.verb}, ${row.what}: ${row.outcome}`, async (context) => {
          // A write that is never found is waited for until the time limit.
          const clock = row.outcome === 'unknownOutcome' ? hurriedClock(20) : systemClock;
          const place = await openPlace(context, row.verb, clock);
          const { direct, proxy } = place;
          const sentBefore = proxy.transactions;
          let done: Revision = 0;
          if (row.done) {
            only(place, {
              type: 'loseAnswer',
              as,
              meanwhile: async () => {
                done = await direct.head();
                await row.others?.(direct);
              },
            });
          } else {
            await row.others?.(direct);
            only(place, { type: 'loseRequest', as });
          }
          const outcome = await outcomeOf(write(place, row.verb, company));
          if (!row.done && row.outcome === 'done') done = await direct.head();
          assert.equal(outcome, row.outcome === 'done' ? done : row.outcome);
          assert.equal(text(await direct.get(key)), row.end);
          const copies = row.verb === 'create' ? 1 : 2;
          assert.equal(proxy.transactions, sentBefore + copies, 'creations are sent once, others until answered');
          assert.equal(await restIsDone(place, row.verb), row.outcome === 'done' && company === 'batch');
        });
      }
    });
  }

  for (const verb of ['create', 'update', 'delete'] as const) {
    test(`${verb}, applied after the search began: done`, async (context) => {
      const place = await openPlace(context, verb);
      const released = Promise.withResolvers<void>();
      only(place, { type: 'delay', as: 'cut', until: released.promise });
      const writing = outcomeOf(write(place, verb));
      // A read through the store comes after the reads that search for the write, or those have found nothing yet.
      await place.store.get(key);
      released.resolve();
      assert.equal(await writing, await place.direct.head());
      assert.equal(text(await place.direct.get(key)), verb === 'delete' ? undefined : 'mine');
    });

    test(`${verb}, of which no copy gets there: unknown outcome`, async (context) => {
      const place = await openPlace(context, verb, hurriedClock(20));
      const sentBefore = place.proxy.transactions;
      const before = await place.direct.head();
      place.proxy.fate = () => ({ type: 'loseRequest', as: 'timeout' });
      assert.equal(await outcomeOf(write(place, verb)), 'unknownOutcome');
      assert.equal(place.proxy.transactions, sentBefore + (verb === 'create' ? 1 : limits.etcdCopiesMax));
      assert.equal(await place.direct.head(), before);
    });

    test(`${verb}, refused before processing: certainly not done, and sent again`, async (context) => {
      const place = await openPlace(context, verb);
      const sentBefore = place.proxy.transactions;
      only(place, { type: 'loseRequest', as: 'refused' });
      const before = await place.direct.head();
      assert.equal(await outcomeOf(write(place, verb)), before + 1);
      assert.equal(place.proxy.transactions, sentBefore + 2);
      assert.equal(await place.direct.head(), before + 1);
    });

    test(`${verb}, history compacted meanwhile: unknown outcome`, async (context) => {
      const place = await openPlace(context, verb);
      const { direct } = place;
      const others: Others = async () => {
        await (verb === 'delete' ? recreate(direct) : overwrite(direct));
        await direct.create('/other', bytes('x'));
        await direct.compact(await direct.head());
      };
      only(place, { type: 'loseAnswer', as: 'cut', meanwhile: () => others(direct) });
      assert.equal(await outcomeOf(write(place, verb)), 'unknownOutcome');
      assert.equal(text(await direct.get(key)), 'others');
    });

    test(`${verb}, and etcd reports full although it applied the write: done`, async (context) => {
      const place = await openPlace(context, verb);
      only(place, { type: 'loseAnswer', as: 'outOfSpace' });
      assert.equal(await outcomeOf(write(place, verb)), await place.direct.head());
    });

    test(`${verb}, and etcd stays unreachable: unknown outcome`, async (context) => {
      const place = await openPlace(context, verb, hurriedClock(50));
      only(place, { type: 'loseAnswer', as: 'cut', meanwhile: () => place.proxy.close() });
      await assert.rejects(write(place, verb), (error) => isStoreError(error, 'unknownOutcome'));
      // Nothing was sent: the write certainly did not happen.
      await assert.rejects(write(place, verb), (error) => isStoreError(error, 'unavailable'));
    });
  }

  for (const verb of ['create', 'update'] as const) {
    test(`${verb}, not done because etcd is full: full`, async (context) => {
      const place = await openPlace(context, verb, hurriedClock(20));
      only(place, { type: 'loseRequest', as: 'outOfSpace' });
      assert.equal(await outcomeOf(write(place, verb)), 'full');
    });
  }

  test('delete, not done because etcd is full: repeated without an id, and done', async (context) => {
    const place = await openPlace(context, 'delete');
    only(place, { type: 'loseRequest', as: 'outOfSpace' });
    assert.equal(await outcomeOf(write(place, 'delete')), await place.direct.head());
    assert.equal(await place.direct.get(key), undefined);
  });

  for (const others of ['nobody', 'others'] as const) {
    test(`delete without an id, ${others === 'others' ? 'and others do the same' : 'done'}`, async (context) => {
      const place = await openPlace(context, 'delete');
      let calls = 0;
      place.proxy.fate = () => {
        calls++;
        if (calls === 1) return { type: 'loseRequest', as: 'outOfSpace' };
        if (calls >= 2 && others === 'others') return { type: 'loseRequest', as: 'cut' };
        return calls === 2 ? { type: 'loseAnswer', as: 'cut' } : pass;
      };
      if (others === 'others') {
        const writing = outcomeOf(write(place, 'delete'));
        await until(() => calls >= 2);
        await remove(place.direct);
        assert.equal(await writing, 'notFound', 'the id of the others is there');
      } else {
        assert.equal(await outcomeOf(write(place, 'delete')), 'unknownOutcome', 'it cannot be told from others');
      }
      assert.equal(await place.direct.get(key), undefined);
    });
  }

  test('a batch is refused if another client changed any of its keys', async (context) => {
    const place = await openPlace(context, 'update');
    await place.direct.delete('/gone', place.beside[1] ?? 0);
    only(place, { type: 'loseRequest', as: 'cut' });
    await assert.rejects(
      writeBatch(place, 'update'),
      (error) => isStoreError(error, 'notFound') && error.key === '/gone',
    );
    assert.equal(text(await place.direct.get(key)), 'before');
  });

  for (const verb of ['create', 'update', 'delete'] as const) {
    test(`a batch with a ${verb}, applied after the search began: done`, async (context) => {
      const place = await openPlace(context, verb);
      const released = Promise.withResolvers<void>();
      only(place, { type: 'delay', as: 'cut', until: released.promise });
      const writing = outcomeOf(write(place, verb, 'batch'));
      await place.store.get(key);
      released.resolve();
      assert.equal(await writing, await place.direct.head());
      assert.equal(await restIsDone(place, verb), true);
    });
  }

  test('a batch of deletions, not done because etcd is full: repeated without an id, and done', async (context) => {
    const place = await openPlace(context, 'delete');
    only(place, { type: 'loseRequest', as: 'outOfSpace' });
    const deletions: readonly BatchWrite[] = [
      { verb: 'delete', key, expected: place.expected },
      { verb: 'delete', key: '/gone', expected: place.beside[1] ?? 0 },
    ];
    await place.store.batch(deletions);
    assert.deepEqual(
      (await place.direct.list('/')).records.map((record) => record.key),
      ['/changed'],
    );
  });

  test('a write that is not found is waited for within a time limit', () => {
    assert.ok(limits.etcdSettleMsMax + limits.etcdWriteMsMax + limits.etcdRetryMsMax < limits.requestMsMax);
  });
});
