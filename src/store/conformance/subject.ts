import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { compareKeys } from '../../base/collections/key-order.ts';
import { type Revision, type Store, StoreError, type StoreErrorCode, type StoreRecord } from '../store.ts';

/** A store implementation under test. */
export interface ConformanceSubject {
  /** Prefix of the test names in reports. */
  readonly name: string;
  /**
   * Opens a separate store without keys for each test. Its revision is arbitrary and may be advanced by other writers.
   */
  open(): Promise<OpenedStore>;
  readonly capabilities: StoreCapabilities;
}

interface OpenedStore {
  readonly store: Store;
  /** Reopens the data of `store` after the suite closed it. Present if and only if the capability `durable` is true. */
  reopen?(): Promise<Store>;
  /** Closes everything that was opened and removes its data. */
  dispose(): Promise<void>;
}

export interface StoreCapabilities {
  /** Data and history survive `close`. */
  readonly durable: boolean;
  /** The largest value that the store accepts, under any key. Default: limited by memory only. */
  readonly valueBytesMax?: number;
  /** Bytes that the store adds to each stored value. Default: 0. */
  readonly addedBytes?: number;
  /**
   * Largest number of writes in a batch; one less if the batch contains a deletion. Default:
   * `limits.storeBatchWritesMax`.
   */
  readonly batchWritesMax?: number;
  /** Why batches can be seen in part, where they can. Default: they cannot. */
  readonly batchesInPart?: string;
  /** Largest batch in bytes. Default: `limits.storeBatchBytesMax`. */
  readonly batchBytesMax?: number;
}

/** A test of one guarantee, with its own store. `skip`: why the store does not give it. */
export type Guarantee = (
  name: string,
  body: (opened: OpenedStore, context: TestContext) => Promise<void>,
  options?: { readonly skip?: string | undefined },
) => void;

/** Far above the duration of any test; ends a test that would otherwise hang. */
const testMsMax = 60_000;

export const guaranteesOf =
  (subject: ConformanceSubject): Guarantee =>
  (name, body, { skip } = {}) => {
    test(name, { timeout: testMsMax, skip: skip ?? false }, async (context) => {
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

/** Asserts that a promise rejects with a StoreError of that code, and returns the error. */
export const rejected = async (promise: Promise<unknown>, code: StoreErrorCode): Promise<StoreError> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof StoreError, `expected a StoreError ${code}, got ${String(outcome)}`);
  assert.equal(outcome.code, code, outcome.message);
  return outcome;
};

/** Creates the key and returns its record. */
export const written = async (store: Store, key: string, value: string): Promise<StoreRecord> => {
  const { revision } = await store.create(key, bytes(value));
  return { key, value: bytes(value), revision };
};

/** A revision so far beyond the head that other writers do not reach it during a test. */
export const farBeyond = async (store: Store): Promise<Revision> => (await store.head()) + 1_000_000_000;

export const inKeyOrder = (records: Iterable<StoreRecord>): readonly StoreRecord[] =>
  [...records].sort((a, b) => compareKeys(a.key, b.key));
