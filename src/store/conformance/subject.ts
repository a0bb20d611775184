import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { compareKeys } from '../../base/key-order.ts';
import { type Revision, type Store, StoreError, type StoreErrorCode, type StoreRecord } from '../store.ts';

/** What the suite is run on. */
export interface ConformanceSubject {
  /** Heads the suite's tests in reports. */
  readonly name: string;
  /** A store of its own, empty of keys, for each test. Its revision may be any, and may move by others' writes. */
  open(): Promise<OpenedStore>;
  readonly capabilities: StoreCapabilities;
}

interface OpenedStore {
  readonly store: Store;
  /** Opens what `store` kept, after the suite closed `store`. Present exactly where the capability `durable` is true. */
  reopen?(): Promise<Store>;
  /** Closes whatever was opened, and leaves nothing behind. */
  dispose(): Promise<void>;
}

export interface StoreCapabilities {
  /** Data and history outlive `close`. */
  readonly durable: boolean;
  /** The largest value that the store takes, under any key. Absent: any that fits into memory. */
  readonly valueBytesMax?: number;
  /** What the store adds to each value that it keeps. Absent: nothing. */
  readonly addedBytes?: number;
  /** Of a batch; a batch with a deletion may have one less. Absent: `limits.storeBatchWritesMax`. */
  readonly batchWritesMax?: number;
  /** Bytes of a batch. Absent: `limits.storeBatchBytesMax`. */
  readonly batchBytesMax?: number;
}

/** A test of one guarantee, with a store of its own. */
export type Guarantee = (name: string, body: (opened: OpenedStore, context: TestContext) => Promise<void>) => void;

/** Far above what a test takes; ends a test that waits for what never comes. */
const testMsMax = 60_000;

export const guaranteesOf =
  (subject: ConformanceSubject): Guarantee =>
  (name, body) => {
    test(name, { timeout: testMsMax }, async (context) => {
      const opened = await subject.open();
      try {
        await body(opened, context);
      } finally {
        await opened.dispose();
      }
    });
  };

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** Asserts that a promise rejects with a StoreError of that code, and gives the error. */
export const rejected = async (promise: Promise<unknown>, code: StoreErrorCode): Promise<StoreError> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof StoreError, `expected a StoreError ${code}, got ${String(outcome)}`);
  assert.equal(outcome.code, code, outcome.message);
  return outcome;
};

/** The record that a write left. */
export const written = async (store: Store, key: string, value: string): Promise<StoreRecord> => {
  const { revision } = await store.create(key, bytes(value));
  return { key, value: bytes(value), revision };
};

/** Far enough beyond any head that others' writes don't reach it during a test. */
export const farBeyond = async (store: Store): Promise<Revision> => (await store.head()) + 1_000_000_000;

export const inKeyOrder = (records: Iterable<StoreRecord>): readonly StoreRecord[] =>
  [...records].sort((a, b) => compareKeys(a.key, b.key));
