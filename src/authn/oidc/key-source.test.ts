import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { noJitter } from '../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { type KeySet, readKeySet } from './key-set.ts';
import { KeySource } from './key-source.ts';
import { ecKey, jwkOf } from './provider-fixture.ts';

const newKeys = (): KeySet => readKeySet(Buffer.from(JSON.stringify({ keys: [jwkOf(ecKey('a'))] })));

/** A source whose fetches are settled by the test. */
function setUp() {
  const clock = new ManualClock();
  const fetches: PromiseWithResolvers<KeySet>[] = [];
  const failures: string[] = [];
  const source = new KeySource({
    clock,
    random: noJitter,
    load: () => {
      const fetch = Promise.withResolvers<KeySet>();
      fetches.push(fetch);
      return fetch.promise;
    },
    failed: ({ message }) => failures.push(message),
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (outcome: KeySet | Error) => {
    const fetch = fetches.at(-1);
    if (outcome instanceof Error) fetch?.reject(outcome);
    else fetch?.resolve(outcome);
    await settled();
  };
  return { clock, source, fetches, failures, end };
}

describe('the keys of a provider', () => {
  it('are fetched immediately and then periodically', async () => {
    const { clock, source, fetches, end } = setUp();
    assert.equal(source.keys, undefined);
    assert.match(source.problem?.message ?? '', /not been fetched yet/);
    const [first, second] = [newKeys(), newKeys()];
    await end(first);
    await source.ready;
    assert.equal(source.keys, first);
    assert.equal(source.problem, undefined);
    clock.advance(limits.oidcKeysFreshMs - 1);
    assert.equal(fetches.length, 1);
    clock.advance(1);
    assert.equal(fetches.length, 2);
    assert.equal(source.keys, first);
    await end(second);
    assert.equal(source.keys, second);
    source.close();
    assert.equal(clock.pending, 0);
  });

  it('stay the same object while they do not change', async () => {
    const { clock, source, end } = setUp();
    const body = Buffer.from(JSON.stringify({ keys: [jwkOf(ecKey('a'))] }));
    const first = readKeySet(body);
    await end(first);
    clock.advance(limits.oidcKeysFreshMs);
    await end(readKeySet(body));
    assert.equal(source.keys, first);
    source.close();
  });

  it('are fetched with back-off until it succeeds; each error is reported once', async () => {
    const { clock, source, fetches, failures, end } = setUp();
    for (const [index, pause] of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000].entries()) {
      await end(new Error('down'));
      assert.equal(source.problem?.message, 'down');
      clock.advance(pause - 1);
      assert.equal(fetches.length, index + 1);
      clock.advance(1);
      assert.equal(fetches.length, index + 2);
    }
    await end(new Error('lies'));
    assert.deepEqual(failures, ['down', 'lies']);
    clock.advance(limits.oidcRetryMsMax);
    await end(newKeys());
    assert.equal(source.problem, undefined);
    clock.advance(limits.oidcKeysFreshMs);
    await end(new Error('lies'));
    assert.deepEqual(failures, ['down', 'lies', 'lies']);
    clock.advance(limits.oidcRetryMs);
    assert.equal(fetches.length, 10);
    source.close();
  });

  it('stay in use while the provider is down', async () => {
    const { clock, source, end } = setUp();
    const keys = newKeys();
    await end(keys);
    clock.advance(limits.oidcKeysFreshMs);
    await end(new Error('down'));
    assert.equal(source.keys, keys);
    assert.equal(source.problem?.message, 'down');
    source.close();
  });

  it('are renewed on demand: one shared fetch, then none for the minimum interval', async () => {
    const { clock, source, fetches, end } = setUp();
    const all = [source.renew(), source.renew(), source.renew()];
    assert.equal(fetches.length, 1);
    assert.equal(source.waiting, 3);
    const keys = newKeys();
    await end(keys);
    assert.deepEqual(await Promise.all(all), [keys, keys, keys]);
    assert.equal(source.waiting, 0);
    clock.advance(limits.oidcKeysFetchMsMin - 1);
    assert.equal(source.renew(), undefined);
    clock.advance(1);
    const renewed = source.renew();
    assert.equal(fetches.length, 2);
    await end(new Error('down'));
    assert.equal(await renewed, keys);
    source.close();
  });

  it('are not renewed within the minimum interval after a failure either', async () => {
    const { clock, source, fetches, end } = setUp();
    await end(newKeys());
    clock.advance(limits.oidcKeysFetchMsMin);
    const renewed = source.renew();
    // A slow fetch: the minimum interval counts from its end.
    clock.advance(limits.oidcFetchMsMax);
    await end(new Error('down'));
    await renewed;
    assert.equal(source.renew(), undefined);
    assert.equal(fetches.length, 2);
    source.close();
  });

  it('are not changed by a fetch that ends after close', async () => {
    const { clock, source, failures, end } = setUp();
    source.close();
    await end(newKeys());
    assert.equal(source.keys, undefined);
    assert.equal(clock.pending, 0);
    clock.advance(limits.oidcKeysFetchMsMin);
    assert.equal(source.renew(), undefined);
    const other = setUp();
    other.source.close();
    await other.end(new Error('no longer wanted'));
    assert.deepEqual([failures, other.failures, other.clock.pending], [[], [], 0]);
  });

  it('that fail synchronously do not stop the rest', async () => {
    const clock = new ManualClock();
    let calls = 0;
    const source = new KeySource({
      clock,
      random: noJitter,
      load: () => {
        calls += 1;
        throw new TypeError('not even asked');
      },
      failed: () => {},
    });
    await until(() => clock.pending === 1);
    clock.advance(limits.oidcRetryMs);
    assert.equal(calls, 2);
    await until(() => clock.pending === 1);
    assert.equal(source.renew(), undefined);
    source.close();
  });
});
