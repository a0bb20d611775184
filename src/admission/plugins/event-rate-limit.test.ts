import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { type EventLimit, EventLimits } from './event-limits.ts';
import { eventRateLimit } from './event-rate-limit.ts';

const event = (name: string) => ({ source: { component: 'c' }, involvedObject: { kind: 'Pod', name } });

function pluginOf(limit: Pick<EventLimit, 'type'> & Partial<EventLimit>, clock = new ManualClock()) {
  const limits = new EventLimits([{ qps: 1, burst: 1, cacheSize: 10, ...limit }], clock);
  return eventRateLimit({ dialect: orch, take: (counted) => limits.take(counted) });
}

async function send(
  plugin: ReturnType<typeof eventRateLimit>,
  write: Parameters<typeof attributesOf>[0],
  username = 'jane',
): Promise<StatusError | undefined> {
  const base = attributesOf({ resource: 'events', namespace: 'n', object: event('a'), ...write });
  const attributes = { ...base, user: { ...base.user, username } };
  try {
    if (plugin.concerns(attributes)) await plugin.validate?.(attributes);
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

describe('EventRateLimit', () => {
  /** The second event is another in one way: whether it counts for the same key. */
  const cases: readonly (readonly [type: EventLimit['type'], key: string, same: Readonly<Record<string, boolean>>])[] =
    [
      ['Server', '', { namespace: true, user: true, object: true }],
      ['Namespace', 'n', { namespace: false, user: true, object: true }],
      ['User', 'jane', { namespace: true, user: false, object: true }],
      ['SourceAndObject', 'cPoda', { namespace: true, user: true, object: false }],
    ];
  for (const [type, key, same] of cases) {
    for (const [what, isSame] of Object.entries({ ...same, nothing: true })) {
      it(`${type}: another ${what} ${isSame ? 'counts for the same' : 'counts for itself'}`, async () => {
        const plugin = pluginOf({ type });
        assert.equal(await send(plugin, {}), undefined);
        const namespace = what === 'namespace' ? 'other' : 'n';
        const object = event(what === 'object' ? 'b' : 'a');
        const refused = await send(plugin, { namespace, object }, what === 'user' ? 'bob' : 'jane');
        assert.equal(refused === undefined, !isSame);
        if (what !== 'nothing') return;
        assert.deepEqual(
          [refused?.code, refused?.reason, refused?.message, refused?.details?.retryAfterSeconds],
          [429, 'TooManyRequests', `Too many requests: limit reached on type ${type} for key ${key}`, 1],
        );
      });
    }
  }

  it('tokens come back, a burst of them at most', async () => {
    const clock = new ManualClock();
    const plugin = pluginOf({ type: 'Server', qps: 2, burst: 3 }, clock);
    const accepted = async () => {
      for (let count = 0; ; count++) if (await send(plugin, {})) return count;
    };
    assert.equal(await accepted(), 3);
    clock.advance(1_000);
    assert.equal(await accepted(), 2);
    clock.advance(60_000);
    assert.equal(await accepted(), 3);
  });

  it('keys that are forgotten begin anew', async () => {
    const plugin = pluginOf({ type: 'Namespace', cacheSize: 2 });
    for (const namespace of ['a', 'b', 'c']) assert.equal(await send(plugin, { namespace }), undefined);
    assert.equal((await send(plugin, { namespace: 'b' }))?.code, 429);
    assert.equal(await send(plugin, { namespace: 'a' }), undefined);
  });

  it('events of both groups count, and what is long is told in part', async () => {
    const plugin = pluginOf({ type: 'SourceAndObject' });
    const regarding = { deprecatedSource: { component: 'c' }, regarding: { kind: 'Pod', name: 'x'.repeat(5_000) } };
    const write = { group: 'events.orch.io', object: regarding };
    assert.equal(await send(plugin, write), undefined);
    assert.match((await send(plugin, write))?.message ?? '', /for key cPodx{1020}$/);
  });

  for (const write of [{ operation: 'delete' }, { resource: 'configmaps' }, { group: 'example.com' }] as const) {
    it(`${JSON.stringify(write)} does not count`, async () => {
      const plugin = pluginOf({ type: 'Server' });
      for (let round = 0; round < 3; round++) assert.equal(await send(plugin, write), undefined);
    });
  }
});
