import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type BatchWrite,
  type Change,
  isStoreError,
  type Revision,
  type Store,
  type StoreErrorCode,
  type StoreRecord,
} from '../store.ts';
import { bytes, type Guarantee, inKeyOrder } from './subject.ts';
import { assertSameChanges, assertSameRecord, assertSameRecords } from './validators.ts';
import { readChanges } from './watch-changes.ts';

/**
 * Compares random sequences of operations, run one at a time, with a trivially simple model: the list of changes, from
 * which every state is recomputed.
 */
export const modelGuarantees = (guarantee: Guarantee): void => {
  guarantee('random operations do what the model does', async ({ store }) => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { maxLength: 40 }), async (sequence) => {
        await compareWithModel(store, `/run-${run++}/`, sequence);
      }),
      { numRuns: 40, interruptAfterTimeLimit: 30_000, markInterruptAsFailure: false },
    );
  });
};

type WriteOperation = Operation & { readonly verb: 'create' | 'update' | 'delete' };

/** `back` selects a revision of the run, counted back from its latest write: 0 is the latest. */
type Operation =
  | { readonly verb: 'create'; readonly key: string; readonly value: string }
  | { readonly verb: 'update'; readonly key: string; readonly value: string; readonly stale: boolean }
  | { readonly verb: 'delete'; readonly key: string; readonly stale: boolean }
  | { readonly verb: 'batch'; readonly writes: readonly WriteOperation[] }
  | { readonly verb: 'get'; readonly key: string; readonly back: number | undefined }
  | {
      readonly verb: 'list';
      readonly prefix: string;
      readonly after: string | undefined;
      readonly limit: number | undefined;
      readonly remaining: 'exact' | 'whether' | undefined;
      readonly back: number | undefined;
    }
  | { readonly verb: 'compact'; readonly back: number };

const keys = fc.constantFrom('a', 'a/', 'a/1', 'a/2', 'b', 'é', '\uFFFD', '😀');
const values = fc.string({ maxLength: 8, unit: 'grapheme' });
const back = fc.option(fc.nat(12), { nil: undefined });
const writeOf = (stale: fc.Arbitrary<boolean>): fc.Arbitrary<WriteOperation> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ verb: fc.constant('create'), key: keys, value: values }) },
    { weight: 4, arbitrary: fc.record({ verb: fc.constant('update'), key: keys, value: values, stale }) },
    { weight: 3, arbitrary: fc.record({ verb: fc.constant('delete'), key: keys, stale }) },
  );
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 11, arbitrary: writeOf(fc.boolean()) },
  {
    weight: 6,
    arbitrary: fc.record({
      verb: fc.constant('batch'),
      writes: fc.uniqueArray(writeOf(fc.constant(false)), { selector: ({ key }) => key, maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('get'), key: keys, back }) },
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('list'),
      prefix: fc.constantFrom('', 'a', 'a/', 'b', 'é', '😀', 'none'),
      after: fc.option(keys, { nil: undefined }),
      limit: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
      remaining: fc.constantFrom(undefined, 'exact', 'whether'),
      back,
    }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('compact'), back: fc.nat(12) }) },
);

const compareWithModel = async (store: Store, prefix: string, sequence: readonly Operation[]): Promise<void> => {
  const model = new Model(await store.head());
  for (const operation of sequence) await step(store, prefix, model, operation);
  const end = model.latest;
  const from = Math.max(model.compacted, model.start);
  const told = model.log.filter(({ revision }) => revision > from);
  assertSameChanges(
    (await readChanges(store, from, end)).filter(({ key }) => key.startsWith(prefix)),
    told,
  );
};

const step = async (store: Store, prefix: string, model: Model, operation: Operation): Promise<void> => {
  switch (operation.verb) {
    case 'create': {
      const key = prefix + operation.key;
      const value = bytes(operation.value);
      const current = model.get(key);
      const revision = await outcome(store.create(key, value), current && 'exists');
      if (revision) model.log.push({ type: 'create', key, value, revision });
      return;
    }
    case 'update':
    case 'delete':
      await replaceOrDelete(store, prefix, model, operation);
      return;
    case 'batch':
      await writeTogether(store, prefix, model, operation.writes);
      return;
    case 'get': {
      const at = model.revisionBack(operation.back);
      const read = store.get(prefix + operation.key, at);
      if (model.forgot(at)) await outcome(read, 'compacted');
      else assertSameRecord(await read, model.get(prefix + operation.key, at));
      return;
    }
    case 'list':
      await compareLists(store, prefix, model, operation);
      return;
    case 'compact': {
      const upTo = model.revisionBack(operation.back) ?? model.start;
      await store.compact(upTo);
      model.compacted = Math.max(model.compacted, upTo);
      return;
    }
  }
};

const replaceOrDelete = async (
  store: Store,
  prefix: string,
  model: Model,
  operation: Operation & { readonly verb: 'update' | 'delete' },
): Promise<void> => {
  const key = prefix + operation.key;
  const current = model.get(key);
  const expected = operation.stale || !current ? model.start : current.revision;
  const refusal = !current ? 'notFound' : operation.stale ? 'conflict' : undefined;
  if (operation.verb === 'update') {
    const value = bytes(operation.value);
    const revision = await outcome(store.update(key, value, expected), refusal);
    if (revision && current) model.log.push({ type: 'update', key, value, revision, previous: current });
  } else {
    const revision = await outcome(store.delete(key, expected), refusal);
    if (revision && current) model.log.push({ type: 'delete', key, revision, previous: current });
  }
};

/** The batch is refused with the error of the first write that the model refuses. */
const writeTogether = async (
  store: Store,
  prefix: string,
  model: Model,
  operations: readonly WriteOperation[],
): Promise<void> => {
  let refusal: StoreErrorCode | undefined;
  const changes: Change[] = [];
  const writes = operations.map((operation): BatchWrite => {
    const { verb } = operation;
    const key = prefix + operation.key;
    const previous = model.get(key);
    if (verb === 'create') {
      if (previous) refusal ??= 'exists';
      const value = bytes(operation.value);
      changes.push({ type: verb, key, value, revision: 0 });
      return { verb, key, value };
    }
    if (!previous) refusal ??= 'notFound';
    else if (verb === 'delete') changes.push({ type: verb, key, revision: 0, previous });
    else changes.push({ type: verb, key, value: bytes(operation.value), revision: 0, previous });
    const expected = previous?.revision ?? model.start;
    return verb === 'delete' ? { verb, key, expected } : { verb, key, value: bytes(operation.value), expected };
  });
  try {
    const committed = await store.batch(writes);
    assert.equal(refusal, undefined, `expected ${refusal}`);
    for (const [index, change] of changes.entries()) {
      model.log.push({ ...change, revision: committed[index]?.revision ?? 0 });
    }
  } catch (error) {
    if (refusal === undefined || !isStoreError(error, refusal)) throw error;
  }
};

const compareLists = async (
  store: Store,
  prefix: string,
  model: Model,
  operation: Operation & { readonly verb: 'list' },
): Promise<void> => {
  const at = model.revisionBack(operation.back);
  const after = operation.after === undefined ? undefined : prefix + operation.after;
  const { limit, remaining } = operation;
  const read = store.list(prefix + operation.prefix, {
    ...(at === undefined ? {} : { at }),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(remaining === undefined ? {} : { remaining }),
  });
  if (model.forgot(at)) {
    await outcome(read, 'compacted');
    return;
  }
  const all = model.list(prefix + operation.prefix, after, at);
  const page = await read;
  assertSameRecords(page.records, all.slice(0, limit));
  const following = all.length - page.records.length;
  if (remaining !== 'whether') assert.equal(page.remaining, following);
  else assert.ok(page.remaining > 0 === following > 0 && page.remaining <= following, `${page.remaining} remain`);
  if (at !== undefined) assert.equal(page.revision, at);
  else assert.ok(page.revision >= model.latest);
};

/** The revision of a write that should succeed; undefined if it was refused as expected. */
const outcome = async (call: Promise<unknown>, refusal: StoreErrorCode | undefined): Promise<Revision | undefined> => {
  try {
    const committed = await call;
    assert.equal(refusal, undefined, `expected ${refusal}`);
    return (committed as { readonly revision: Revision }).revision;
  } catch (error) {
    if (refusal !== undefined && isStoreError(error, refusal)) return undefined;
    throw error;
  }
};

class Model {
  readonly log: Change[] = [];
  compacted = 0;
  readonly start: Revision;

  constructor(start: Revision) {
    this.start = start;
  }

  get latest(): Revision {
    return this.log.at(-1)?.revision ?? this.start;
  }

  revisionBack(steps: number | undefined): Revision | undefined {
    if (steps === undefined) return undefined;
    return this.log.at(-1 - steps)?.revision ?? this.start;
  }

  forgot(at: Revision | undefined): boolean {
    return at !== undefined && at < this.compacted;
  }

  get(key: string, at?: Revision): StoreRecord | undefined {
    const change = this.log.findLast((past) => past.key === key && (at === undefined || past.revision <= at));
    return !change || change.type === 'delete' ? undefined : { key, value: change.value, revision: change.revision };
  }

  list(prefix: string, after: string | undefined, at?: Revision): readonly StoreRecord[] {
    const names = new Set(this.log.map(({ key }) => key).filter((key) => key.startsWith(prefix)));
    const records = [...names].flatMap((key) => this.get(key, at) ?? []);
    const floor = after === undefined ? undefined : Buffer.from(after);
    return inKeyOrder(records).filter(({ key }) => !floor || Buffer.compare(Buffer.from(key), floor) > 0);
  }
}
