import assert from 'node:assert/strict';
import { limits } from '../../base/limits.ts';
import { historyRecordBytes } from '../store.ts';
import { bytes, type Guarantee, rejected, type StoreCapabilities, written } from './subject.ts';
import { assertSameRecord } from './validators.ts';

/** The longest key the API can produce: resource group, namespace, and a name that is not a DNS name. */
const longKey = `/${'g'.repeat(253)}/${'r'.repeat(63)}/${'s'.repeat(63)}/${'n'.repeat(limits.pathNameBytesMax)}`;

/** Large values. */
export const sizeGuarantees = (guarantee: Guarantee, { valueBytesMax, addedBytes = 0 }: StoreCapabilities): void => {
  const kept = historyRecordBytes + addedBytes;
  const largest = Math.min(limits.objectBytesMax, valueBytesMax ?? limits.objectBytesMax);

  guarantee('the largest values are taken, under the longest keys', async ({ store }) => {
    const value = new Uint8Array(largest).fill(97);
    const created = await store.create(longKey, value);
    assertSameRecord(await store.get(longKey), { key: longKey, value, revision: created.revision });
    const other = new Uint8Array(largest).fill(98);
    const updated = await store.update(longKey, other, created.revision);
    assertSameRecord(await store.get(longKey), { key: longKey, value: other, revision: updated.revision });
  });

  guarantee('a store reports its size, and the size of its history', async ({ store }) => {
    const before = await store.historySize?.(await store.head());
    let record = await written(store, '/a', 'one');
    const value = new Uint8Array(100_000);
    for (let round = 0; round < 5; round++)
      record = { ...record, ...(await store.update('/a', value, record.revision)) };
    assert.ok(Number.isSafeInteger(await store.size()) && (await store.size()) > 0);
    if (before === undefined || !store.historySize) return;
    assert.equal(await store.historySize(record.revision - 2), before + 3 + 2 * value.length + 3 * kept, 'up to then');
    assert.equal(await store.historySize(await store.head()), before + 3 + 4 * value.length + 5 * kept);
    const { revision } = await store.delete('/a', record.revision);
    assert.equal(await store.historySize(await store.head()), before + 3 + 5 * value.length + 6 * kept);
    await store.compact(revision);
    assert.equal(await store.historySize(await store.head()), 0);
  });

  if (valueBytesMax === undefined) {
    guarantee('values above what the API writes are kept, made smaller and deleted', async ({ store }) => {
      const { revision } = await store.create('/a', new Uint8Array(limits.objectBytesMax * 2));
      const smaller = new Uint8Array(limits.objectBytesMax * 2 - 1);
      const updated = await store.update('/a', smaller, revision);
      assert.equal((await store.get('/a'))?.value.length, smaller.length);
      await store.delete('/a', updated.revision);
      assert.equal(await store.get('/a'), undefined);
    });
    return;
  }

  guarantee(
    'a value that is larger than the store takes is refused with tooLarge, and nothing has happened',
    async ({ store }) => {
      const there = await written(store, '/there', 'one');
      for (const size of [valueBytesMax + 64 * 1024, limits.objectBytesMax, 16 * 1024 * 1024]) {
        const value = new Uint8Array(size);
        await rejected(store.create('/a', value), 'tooLarge');
        await rejected(store.create('/there', value), 'tooLarge');
        await rejected(store.update('/there', value, there.revision), 'tooLarge');
        await rejected(store.update('/absent', value, there.revision), 'tooLarge');
      }
      assert.equal(await store.get('/a'), undefined);
      assertSameRecord(await store.get('/there'), there);
      await store.update('/there', bytes('two'), there.revision);
    },
  );
};
