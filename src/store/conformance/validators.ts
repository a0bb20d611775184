/**
 * One validator per guarantee of a change stream. Each throws an AssertionError that shows where the guarantee was
 * violated.
 */
import assert from 'node:assert/strict';
import type { Change, ChangeBatch, Revision, StoreRecord } from '../store.ts';

/**
 * Ordered and unique: revisions increase from change to change, starting after `from`. Changes with the same revision
 * (only a batch produces them) have different keys.
 */
export const assertOrdered = (changes: readonly Change[], from: Revision): void => {
  let last = from;
  const keys = new Set<string>();
  for (const { key, revision } of changes) {
    const isShared = revision === last && keys.size > 0 && !keys.has(key);
    assert.ok(revision > last || isShared, `change of ${key} at ${revision} came after ${last}`);
    if (revision > last) keys.clear();
    keys.add(key);
    last = revision;
  }
};

/**
 * Bookmarkable and atomic: a batch reports at least the revision of its last change, reported revisions never decrease,
 * and no change at or before a reported revision follows later, so no revision is split between batches.
 */
export const assertBookmarkable = (batches: readonly ChangeBatch[], from: Revision): void => {
  let reported = from;
  for (const batch of batches) {
    assert.ok(batch.revision >= reported, `progress went back from ${reported} to ${batch.revision}`);
    for (const { revision } of batch.changes) {
      assert.ok(revision > reported, `change at ${revision} came after progress ${reported}`);
      assert.ok(revision <= batch.revision, `batch that reports ${batch.revision} has a change at ${revision}`);
    }
    reported = batch.revision;
  }
};

/** Correct type and previous value: each change is consistent with the state before it. Returns the final state. */
export const replay = (
  changes: readonly Change[],
  start: ReadonlyMap<string, StoreRecord> = new Map(),
): ReadonlyMap<string, StoreRecord> => {
  const state = new Map(start);
  for (const change of changes) {
    const { key, revision } = change;
    const before = state.get(key);
    if (change.type === 'create') {
      assert.equal(before, undefined, `create of ${key} at ${revision}, which is there`);
    } else {
      assert.ok(before, `${change.type} of ${key} at ${revision}, which is absent`);
      assertSameRecord(change.previous, before);
    }
    if (change.type === 'delete') state.delete(key);
    else state.set(key, { key, value: change.value, revision });
  }
  return state;
};

/** The final state of a replay equals a list at that revision. */
export const assertSameRecords = (actual: readonly StoreRecord[], expected: Iterable<StoreRecord>): void => {
  const wanted = [...expected];
  assert.deepEqual(
    actual.map(({ key, revision }) => ({ key, revision })),
    wanted.map(({ key, revision }) => ({ key, revision })),
  );
  for (const [index, record] of wanted.entries()) assertSameRecord(actual[index], record);
};

export const assertSameRecord = (actual: StoreRecord | undefined, expected: StoreRecord | undefined): void => {
  if (!expected) {
    assert.equal(actual, undefined, `key ${actual?.key} should be absent`);
    return;
  }
  assert.ok(actual, `key ${expected.key} should be there`);
  assert.equal(actual.key, expected.key);
  assert.equal(actual.revision, expected.revision);
  assertSameBytes(actual.value, expected.value);
};

/** Compares bytes only, whichever subclass of Uint8Array holds them. */
export const assertSameBytes = (actual: Uint8Array, expected: Uint8Array): void => {
  assert.ok(actual instanceof Uint8Array, 'values are Uint8Arrays');
  assert.ok(Buffer.compare(actual, expected) === 0, `values differ: ${show(actual)} and ${show(expected)}`);
};

/** Both change streams delivered the same changes. */
export const assertSameChanges = (actual: readonly Change[], expected: readonly Change[]): void => {
  const outline = ({ type, key, revision }: Change) => ({ type, key, revision });
  assert.deepEqual(actual.map(outline), expected.map(outline));
  for (const [index, change] of actual.entries()) assertSameChange(change, expected[index]);
};

const assertSameChange = (actual: Change, expected: Change | undefined): void => {
  assert.equal(actual.type, expected?.type);
  if (actual.type !== 'delete' && expected && expected.type !== 'delete') assertSameBytes(actual.value, expected.value);
  if (actual.type !== 'create' && expected && expected.type !== 'create')
    assertSameRecord(actual.previous, expected.previous);
};

const show = (bytes: Uint8Array): string => `${bytes.length} bytes ${Buffer.from(bytes.subarray(0, 40)).toString()}`;
