import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareKeys } from './key-order.ts';
import { type Keyed, type ReadonlySortedEntries, SortedEntries } from './sorted-entries.ts';

interface Item extends Keyed {
  readonly value: number;
}

const all = (entries: ReadonlySortedEntries<Item>): readonly Item[] => [
  ...entries.range({ key: '', exclusive: false }, undefined),
];

const sum = (items: readonly Item[]): number => items.reduce((total, { value }) => total + value, 0);
const total = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);

const inOrder = (items: Iterable<Item>): readonly Item[] => [...items].sort((a, b) => compareKeys(a.key, b.key));

const keys = fc.oneof(
  fc.nat(2_000).map((number) => `/ns-${number % 7}/object-${number}`),
  fc.string({ unit: 'binary', maxLength: 4 }).filter((key) => key.isWellFormed()),
);

test('an empty tree has no items', () => {
  const entries = SortedEntries.empty<Item>();
  assert.equal(entries.size, 0);
  assert.equal(entries.get('a'), undefined);
  assert.equal(entries.delete('a'), undefined);
  assert.equal(entries.rank('a'), 0);
  assert.deepEqual(all(entries), []);
});

test('does what a sorted array does, and leaves its snapshots alone', () => {
  const operations = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ type: fc.constant('set' as const), key: keys }) },
      { weight: 4, arbitrary: fc.record({ type: fc.constant('delete' as const), key: keys }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('snapshot' as const), key: keys }) },
    ),
    { maxLength: 600 },
  );
  fc.assert(
    fc.property(fc.uniqueArray(keys, { maxLength: 500 }), operations, (initial, steps) => {
      const model = new Map(initial.map((key, value) => [key, { key, value }]));
      const entries = SortedEntries.fromSorted(inOrder(model.values()));
      const snapshots: { readonly entries: ReadonlySortedEntries<Item>; readonly items: readonly Item[] }[] = [];
      for (const [index, { type, key }] of steps.entries()) {
        if (type === 'snapshot') {
          snapshots.push({ entries: entries.snapshot(), items: inOrder(model.values()) });
        } else if (type === 'set') {
          const item = { key, value: index };
          assert.equal(entries.set(item), model.get(key));
          model.set(key, item);
        } else {
          assert.equal(entries.delete(key), model.get(key));
          model.delete(key);
        }
        assert.equal(entries.get(key), model.get(key));
        assert.equal(entries.size, model.size);
        // Called after each step, so that some leaves have a cached summary and others have changed since.
        const range = [{ key, exclusive: index % 2 === 0 }, index % 3 === 0 ? `${key}~` : undefined] as const;
        assert.equal(total(entries.summaries(...range, sum)), sum([...entries.range(...range)]));
      }
      for (const snapshot of [...snapshots, { entries, items: inOrder(model.values()) }]) {
        assert.deepEqual(all(snapshot.entries), snapshot.items);
        for (const [index, item] of snapshot.items.entries()) {
          assert.equal(snapshot.entries.rank(item.key), index);
          assert.equal(snapshot.entries.at(index), item);
        }
        assert.equal(snapshot.entries.at(snapshot.items.length), undefined);
        assert.equal(
          total(snapshot.entries.summaries({ key: '', exclusive: false }, undefined, sum)),
          sum(snapshot.items),
        );
      }
    }),
    { numRuns: 60 },
  );
});

test('grows and shrinks through several levels in any order', () => {
  const count = 20_000;
  const name = (number: number): string => String(number).padStart(6, '0');
  const entries = SortedEntries.empty<Item>();
  // 7919 is coprime to the count: every number occurs once.
  for (let step = 0; step < count; step++) entries.set({ key: name((step * 7919) % count), value: step });
  const full = entries.snapshot();
  for (let step = 0; step < count; step++) {
    if (step % 1_000 === 0) assert.equal(entries.rank(name(count)), count - step);
    assert.ok(entries.delete(name((step * 104_729) % count)));
  }
  assert.deepEqual(all(entries), []);
  assert.deepEqual(
    all(full).map(({ key }) => key),
    Array.from({ length: count }, (_, number) => name(number)),
  );
});

test('ranges and ranks agree with comparing every key', () => {
  const bound = fc.option(keys, { nil: undefined });
  fc.assert(
    fc.property(fc.uniqueArray(keys, { maxLength: 300 }), keys, fc.boolean(), bound, (list, key, exclusive, end) => {
      const items = inOrder(list.map((each, value) => ({ key: each, value })));
      const entries = SortedEntries.fromSorted(items);
      const expected = items.filter((item) => {
        const order = compareKeys(item.key, key);
        return (exclusive ? order > 0 : order >= 0) && (end === undefined || compareKeys(item.key, end) < 0);
      });
      assert.deepEqual([...entries.range({ key, exclusive }, end)], expected);
      assert.equal(entries.rank(key), items.filter((item) => compareKeys(item.key, key) < 0).length);
    }),
  );
});

test('keys of any kind find their place among keys that sort natively, and may join them', () => {
  const plain = fc.nat(300).map((number) => `/ns/${number}`);
  const others = fc.string({ unit: 'binary', maxLength: 3 }).filter((key) => key.isWellFormed());
  fc.assert(
    fc.property(fc.uniqueArray(plain, { minLength: 80 }), fc.array(others, { minLength: 1 }), (initial, joining) => {
      const model = new Map(initial.map((key, value) => [key, { key, value }]));
      const entries = SortedEntries.fromSorted(inOrder(model.values()));
      const before = { snapshot: entries.snapshot(), items: inOrder(model.values()) };
      for (const [value, key] of joining.map((end) => `/ns/1${end}`).entries()) {
        assert.equal(entries.rank(key), [...model.keys()].filter((held) => compareKeys(held, key) < 0).length);
        entries.set({ key, value });
        model.set(key, { key, value });
        assert.deepEqual(entries.get(key), { key, value });
      }
      assert.deepEqual(all(entries), inOrder(model.values()));
      assert.deepEqual(all(before.snapshot), before.items);
    }),
    { numRuns: 100 },
  );
});
