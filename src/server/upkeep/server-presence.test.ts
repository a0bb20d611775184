import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { type Revision, type Store, StoreError } from '../../store/store.ts';
import { Lead } from './lead.ts';
import { ServerPresence, serverLeaseMs } from './server-presence.ts';

interface World {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly server: (name: string, options?: { readonly leads?: boolean; readonly store?: object }) => ServerPresence;
  readonly keys: () => Promise<readonly string[]>;
}

function world(): World {
  const store = openMemoryStore();
  const clock = new ManualClock();
  return {
    ...{ store, clock },
    server: (hostname, { leads = true, store: calls = {} } = {}) =>
      new ServerPresence({
        ...{ clock, random: systemRandom, logger: silentLogger, hostname, lead: new Lead(leads) },
        store: {
          get: (key) => store.get(key),
          list: (prefix) => store.list(prefix),
          create: (key, value) => store.create(key, value),
          update: (key, value, revision) => store.update(key, value, revision),
          delete: (key, revision) => store.delete(key, revision),
          ...calls,
        },
      }),
    keys: async () =>
      (await store.list('/')).records.map(({ key }) => key.replace(/^(\/\.servers\/.*)\/[-0-9a-f]{36}$/, '$1')),
  };
}

describe('servers of one store', () => {
  test('know the addresses of each other until one is silent for the time of a lease', async () => {
    const { clock, server, keys } = world();
    const [one, other] = [server('one'), server('other')];
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1']);
    assert.deepEqual(await other.addresses('192.0.2.2'), ['192.0.2.1', '192.0.2.2']);
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1', '192.0.2.2']);
    for (let round = 0; round < 4; round++) {
      clock.advance(10_000);
      for (const each of [one, other]) await each.round();
      assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1', '192.0.2.2']);
    }
    clock.advance(serverLeaseMs - 1);
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1', '192.0.2.2']);
    clock.advance(1);
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1']);
    assert.deepEqual(await keys(), ['/.servers/one']);
    await other.round();
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1', '192.0.2.2'], 'one that comes back counts again');
  });

  test('have a key each, from before they serve until they stop, with an address or without', async () => {
    const { store, clock, server, keys } = world();
    const [one, twin] = [server('one'), server('one')];
    await one.open();
    await twin.open();
    assert.deepEqual(await keys(), ['/.servers/one', '/.servers/one']);
    const before = await store.head();
    clock.advance(10_000);
    await until(async () => (await store.head()) === before + 2, 'both have renewed theirs');
    await one.close();
    assert.deepEqual(await keys(), ['/.servers/one']);
    clock.advance(60_000);
    await one.round();
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1']);
    assert.deepEqual(await keys(), ['/.servers/one'], 'nothing is written after the end');
    await twin.close();
    assert.deepEqual(await keys(), []);
  });

  test('that lead remove the keys of those that have gone; others leave them', async () => {
    const { clock, server, keys } = world();
    await server('crashed').round();
    const follower = server('follower', { leads: false });
    for (const each of [0, serverLeaseMs]) {
      clock.advance(each);
      await follower.addresses('192.0.2.1');
    }
    assert.deepEqual(await keys(), ['/.servers/crashed', '/.servers/follower']);
    const leader = server('leader');
    await leader.round();
    clock.advance(serverLeaseMs);
    await follower.round();
    await leader.round();
    assert.deepEqual(await keys(), ['/.servers/follower', '/.servers/leader']);
  });

  test('are found by those of the release before for as long as some are there', async () => {
    const { store, clock, server, keys } = world();
    const older = '/.apiservers/192.0.2.9';
    const { revision } = await store.create(older, Buffer.from('{"renewTime":"2026-01-01T00:00:00.000Z"}'));
    const [one, two] = [server('one'), server('two')];
    assert.deepEqual(await one.addresses('192.0.2.1'), ['192.0.2.1', '192.0.2.9']);
    await two.addresses('192.0.2.2');
    assert.deepEqual(
      (await keys()).filter((key) => key.startsWith('/.apiservers/')),
      ['/.apiservers/192.0.2.1', '/.apiservers/192.0.2.2', older],
    );
    await store.delete(older, revision);
    // What they wrote for it does not keep them writing.
    clock.advance(serverLeaseMs);
    for (const each of [one, two]) await each.round();
    for (const [each, own] of [[one, '192.0.2.1'] as const, [two, '192.0.2.2'] as const]) await each.addresses(own);
    clock.advance(serverLeaseMs);
    for (const each of [one, two]) await each.round();
    assert.deepEqual(await keys(), ['/.servers/one', '/.servers/two']);
  });
});

test('a key that others removed is written again', async () => {
  const { store, server, keys } = world();
  const one = server('one', {
    store: {
      async update(key: string, value: Uint8Array, revision: Revision) {
        await store.delete(key, revision);
        return store.update(key, value, revision);
      },
    },
  });
  await one.round();
  await one.round();
  assert.deepEqual(await keys(), ['/.servers/one']);
});

test('a server starts on a full store, and on no other that refuses its key', async () => {
  const { server } = world();
  const refusing = (code: 'full' | 'unavailable') =>
    server('one', { store: { create: async () => Promise.reject(new StoreError(code, code)) } });
  await refusing('full').open();
  await assert.rejects(refusing('unavailable').open(), { code: 'unavailable' });
});

test('a server that stops does not wait for a store that does not answer', async () => {
  const { clock, server } = world();
  const one = server('one', { store: { delete: () => new Promise(() => {}) } });
  await one.open();
  const closed = one.close();
  const isClosed = closed.then(() => true);
  await until(async () => {
    clock.advance(100);
    return Promise.race([isClosed, Promise.resolve(false)]);
  }, 'it goes on');
});
