import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../base/metrics.ts';
import { SpanFixture } from '../base/span-fixture.ts';
import { systemClock } from '../base/time/clock.ts';
import { measuredStore, storeMetrics } from './measured-store.ts';
import type { Store } from './store.ts';
import { transformedStore } from './transformed-store.ts';

/** What a store does with others in front of it. An optional argument that one of them forgets is lost silently. */

const decorators: Readonly<Record<string, (store: Store) => Store>> = {
  measured: (store) => measuredStore(store, storeMetrics(new Metrics(), systemClock)),
  transformed: (store) =>
    transformedStore(
      store,
      { toStored: (bytes) => bytes, fromStored: (bytes) => ({ bytes, stale: false }) },
      systemClock,
    ),
};

type Method = Exclude<keyof Store, 'knownHead'>;

const value = Buffer.from('{}');
const record = { key: '/a', value, revision: 7 };
const span = new SpanFixture();
const { signal } = new AbortController();

/** All arguments of each operation, and its result. */
const calls: { readonly [Name in Method]-?: readonly [args: readonly unknown[], result: unknown] } = {
  head: [[], 7],
  get: [['/a', 6], record],
  list: [
    ['/', { at: 6, after: '/0', limit: 1, remaining: 'whether' }],
    { records: [record], revision: 6, remaining: 1 },
  ],
  create: [['/a', value, { span }], { revision: 7 }],
  update: [['/a', value, 6, { span, deletion: true }], { revision: 7 }],
  delete: [['/a', 6, { span }], { revision: 7 }],
  batch: [[[{ verb: 'delete', key: '/a', expected: 6 }]], [{ revision: 7 }]],
  changes: [[6, signal], [{ changes: [{ type: 'create', ...record }], revision: 7 }]],
  compact: [[6], undefined],
  takeCompactionTurn: [[6], true],
  size: [[], 1],
  alarms: [[], ['NOSPACE']],
  formMayChange: [['/a'], true],
  historySize: [[6], 2],
  close: [[], undefined],
};

for (const [name, decorate] of Object.entries(decorators)) {
  describe(`a ${name} store`, () => {
    for (const [method, [args, result]] of Object.entries(calls)) {
      it(`passes on all that is said to ${method}, and what it answers`, async () => {
        const seen: unknown[] = [];
        const answer = (...given: readonly unknown[]) => {
          seen.push(given);
          return method === 'changes' ? stream(result as readonly unknown[]) : Promise.resolve(result);
        };
        const inner = {
          alarms: async () => [],
          historySize: async () => 0,
          takeCompactionTurn: async () => false,
          [method]: answer,
        } as unknown as Store;
        const operation = Reflect.get(decorate(inner), method) as (...given: readonly unknown[]) => unknown;
        const answered = operation.apply(decorate(inner), [...args]);
        const found = method === 'changes' ? await Array.fromAsync(answered as AsyncIterable<unknown>) : await answered;
        assert.deepEqual(found, result);
        assert.deepEqual(seen, [args]);
      });
    }

    it('knows the head that its store knows', () => {
      assert.equal(decorate({ knownHead: 7 } as Store).knownHead, 7);
      assert.equal(decorate({} as Store).knownHead, undefined);
    });

    it('tells the size of history if its store can', () => {
      assert.equal(decorate({} as Store).historySize, undefined);
    });
  });
}

async function* stream(parts: readonly unknown[]): AsyncIterable<unknown> {
  yield* parts;
}
