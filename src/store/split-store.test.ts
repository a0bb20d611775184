import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpanFixture } from '../base/span-fixture.ts';
import { openMemoryStore } from './drivers/memory/memory-store.ts';
import { SplitStore } from './split-store.ts';
import type { KeyStore } from './store.ts';

const value = Buffer.from('{}');
const span = new SpanFixture();

/** What a store is asked, with all arguments. */
function recording() {
  const asked: unknown[][] = [];
  const record =
    (method: string) =>
    (...args: unknown[]) => {
      asked.push([method, ...args]);
      return method === 'formMayChange' ? true : Promise.resolve(method);
    };
  const methods = ['formMayChange', 'get', 'list', 'create', 'update', 'delete', 'batch'] as const;
  const store = Object.fromEntries(methods.map((method) => [method, record(method)])) as unknown as KeyStore;
  return { asked, store };
}

function split() {
  const [main, events] = [recording(), recording()];
  const others = new Map([['/core/events/', events.store]]);
  return { main, events, store: new SplitStore({ main: main.store, others }) };
}

describe('several stores as one', () => {
  for (const [key, place] of [
    ['/core/events/default/a', 'events'],
    ['/core/events/', 'events'],
    ['/core/events/default/', 'events'],
    ['/.scopes/x/core/events/default/a', 'events'],
    ['/core/eventsources/default/a', 'main'],
    ['/events.k8s.io/events/default/a', 'main'],
    ['/core/configmaps/events/a', 'main'],
    ['/.claims/core/events/a', 'main'],
    ['/.scopes/x/.claims/core/events/a', 'main'],
    ['/core/', 'main'],
    ['/', 'main'],
    ['/.dialect', 'main'],
  ] as const) {
    it(`ask ${place} for ${key}, and pass on all that is said`, async () => {
      const { store, ...stores } = split();
      assert.equal(store.formMayChange(key), true);
      const batch = [{ verb: 'delete', key, expected: 6 }] as const;
      const options = { span };
      for (const [answer, method] of [
        [store.get(key, 6), 'get'],
        [store.list(key, { limit: 1 }), 'list'],
        [store.create(key, value, options), 'create'],
        [store.update(key, value, 6, options), 'update'],
        [store.delete(key, 6, options), 'delete'],
        [store.batch(batch), 'batch'],
      ] as const) {
        assert.equal(await answer, method);
      }
      assert.deepEqual(stores[place].asked, [
        ['formMayChange', key],
        ['get', key, 6],
        ['list', key, { limit: 1 }],
        ['create', key, value, options],
        ['update', key, value, 6, options],
        ['delete', key, 6, options],
        ['batch', batch],
      ]);
      assert.deepEqual(stores[place === 'main' ? 'events' : 'main'].asked, []);
    });
  }

  it('have no batch of keys of two of them: nothing is written', async () => {
    const [main, events] = [openMemoryStore(), openMemoryStore()];
    const store = new SplitStore({ main, others: new Map([['/core/events/', events]]) });
    const create = (key: string) => ({ verb: 'create', key, value }) as const;
    const both = [create('/core/configmaps/n/a'), create('/core/events/n/a')];
    await assert.rejects(store.batch(both), /^RangeError: a batch has keys of several stores$/);
    for (const each of [main, events]) assert.deepEqual((await each.list('/')).records, []);
    assert.deepEqual(await store.batch([]), []);
    await store.batch([create('/core/events/n/a'), create('/core/events/n/b')]);
    assert.equal((await events.list('/')).records.length, 2);
    await Promise.all([main.close(), events.close()]);
  });
});
