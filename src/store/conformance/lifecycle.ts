import assert from 'node:assert/strict';
import { isStoreError } from '../store.ts';
import { bytes, type Guarantee, rejected, type StoreCapabilities, text, written } from './subject.ts';
import { assertSameChanges, assertSameRecords } from './validators.ts';
import { readChanges, watchChanges } from './watch-changes.ts';

/** Close and reopen. */
export const lifecycleGuarantees = (guarantee: Guarantee, capabilities: StoreCapabilities): void => {
  guarantee('a closed store is unavailable', async ({ store }) => {
    const { revision } = await written(store, '/a', 'one');
    await store.close();
    const calls = [
      () => store.head(),
      () => store.get('/a'),
      () => store.get('/a', revision),
      () => store.list('/'),
      () => store.list('/', { at: revision }),
      () => store.create('/b', bytes('x')),
      () => store.update('/a', bytes('x'), revision),
      () => store.delete('/a', revision),
      () => store.batch([{ verb: 'create', key: '/b', value: bytes('x') }]),
      () => store.compact(revision),
      () => store.size(),
      ...(store.historySize ? [() => store.historySize?.(1) as Promise<number>] : []),
      () => store.changes(revision, new AbortController().signal)[Symbol.asyncIterator]().next(),
    ];
    for (const call of calls) await rejected(call(), 'unavailable');
    await store.close();
  });

  guarantee('a reader of changes that resumes ends with its store', async ({ store }) => {
    const stream = watchChanges(store, await store.head());
    const { revision } = await written(store, '/a', 'one');
    await stream.reached(revision);
    // A store may count revisions of its own.
    const later = rejected(stream.reached(revision + 1_000), 'unavailable');
    await store.close();
    await later;
    await rejected(stream.stop(), 'unavailable');
  });

  guarantee('a locally known head is the head', async ({ store }) => {
    const known = store.knownHead !== undefined;
    assert.equal(store.knownHead, known ? await store.head() : undefined);
    const { revision } = await written(store, '/a', 'one');
    assert.equal(store.knownHead, known ? revision : undefined);
    const racing = Array.from({ length: 5 }, async (_, index) => {
      const written = await store.create(`/b/${index}`, bytes('two'));
      if (known) assert.ok((store.knownHead ?? 0) >= written.revision);
    });
    await Promise.all(racing);
    assert.equal(store.knownHead, known ? await store.head() : undefined);
    await store.close();
    assert.equal(store.knownHead, undefined);
  });

  guarantee('closing ends change streams with unavailable', async ({ store }) => {
    const from = await store.head();
    await written(store, '/a', 'one');
    const stream = store.changes(from, new AbortController().signal)[Symbol.asyncIterator]();
    while (((await stream.next()).value?.changes.length ?? 0) === 0);
    const waiting = (async () => {
      while (!(await stream.next()).done);
    })();
    const ended = rejected(waiting, 'unavailable');
    await store.close();
    await ended;
  });

  guarantee('pending writes are finished or refused when the store closes', async ({ store }) => {
    const writes = Array.from({ length: 50 }, (_, index) => store.create(`/closing/${index}`, bytes('x')));
    const settled = Promise.allSettled(writes);
    await store.close();
    for (const outcome of await settled) {
      if (outcome.status === 'rejected') assert.ok(isStoreError(outcome.reason, 'unavailable'), String(outcome.reason));
    }
  });

  if (capabilities.durable) durabilityGuarantees(guarantee);
};

const durabilityGuarantees = (guarantee: Guarantee): void => {
  guarantee('acknowledged writes are there after reopening, with their history', async ({ store, reopen }) => {
    assert.ok(reopen, 'a durable subject can be reopened');
    const from = await store.head();
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const gone = await written(store, '/gone', 'gone');
    const removed = await store.delete('/gone', gone.revision);
    const before = await store.list('');
    const changes = await readChanges(store, from, removed.revision);
    await store.close();

    const reopened = await reopen();
    assert.ok((await reopened.head()) >= removed.revision);
    assertSameRecords((await reopened.list('')).records, before.records);
    assertSameRecords((await reopened.list('', { at: before.revision })).records, before.records);
    assert.equal(text((await reopened.get('/a', first.revision))?.value), 'one');
    assertSameChanges(await readChanges(reopened, from, removed.revision), changes);
    const third = await reopened.update('/a', bytes('three'), second.revision);
    assert.ok(third.revision > removed.revision);
  });

  guarantee('the revision does not go back when the last write, a deletion, was compacted', async (opened) => {
    const { store, reopen } = opened;
    assert.ok(reopen);
    const first = await written(store, '/a', 'one');
    const removed = await store.delete('/a', first.revision);
    await store.compact(removed.revision);
    await store.close();
    const reopened = await reopen();
    assert.ok((await reopened.head()) >= removed.revision);
    assert.ok((await written(reopened, '/b', 'two')).revision > removed.revision);
  });

  guarantee('what was compacted stays compacted after reopening', async ({ store, reopen }) => {
    assert.ok(reopen);
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const third = await store.update('/a', bytes('three'), second.revision);
    await store.compact(second.revision);
    await store.close();
    const reopened = await reopen();
    await rejected(reopened.get('/a', first.revision), 'compacted');
    await rejected(readChanges(reopened, first.revision, third.revision), 'compacted');
    assert.equal(text((await reopened.get('/a', second.revision))?.value), 'two');
    assert.equal((await readChanges(reopened, second.revision, third.revision)).length, 1);
  });
};
