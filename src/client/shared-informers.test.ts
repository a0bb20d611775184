import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { ApiClient } from './api-client.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';
import { SharedInformers } from './shared-informers.ts';

const object = (name: string, version: string, color: string) => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: version, managedFields: [] },
  color,
});
const byColor = (each: ApiObject): string => String(each['color']);

async function setUp() {
  const server = new ScriptedServer();
  const clock = new ManualClock();
  const { signal } = new AbortController();
  const informers = new SharedInformers({
    client: new ApiClient(server, 'test'),
    ...{ clock, random: noJitter, logger: silentLogger },
  });
  server.answer(200, { metadata: { resourceVersion: '5' }, items: [object('a', '3', 'red'), object('b', '4', 'red')] });
  const stream = server.stream();
  const informer = informers.of('/c');
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 10; turns++) await turn();
  };
  await settle();
  const isDone = async (wait: Promise<void>): Promise<boolean> => {
    let done = false;
    void wait.then(() => {
      done = true;
    });
    await settle();
    return done;
  };
  return { server, clock, signal, informers, informer, stream, settle, isDone };
}

describe('informers that controllers share', () => {
  it('there is one for each collection', async () => {
    const { server, informers, informer } = await setUp();
    assert.equal(informers.of('/c'), informer);
    assert.equal(server.requests.length, 2);
    informers.close();
  });

  it('who comes later is told what is there, and objects have no managed fields', async () => {
    const { informers, informer, stream, settle } = await setUp();
    const told: unknown[] = [];
    const following = informer.follow({
      changed: (key, now, before) => void told.push([key, now?.['color'], before?.['color']]),
      synced: () => void told.push('synced'),
    });
    assert.equal(informer.get('ns/a')?.metadata.managedFields, undefined);
    stream.event('MODIFIED', object('a', '6', 'blue'));
    await settle();
    following.close();
    stream.event('DELETED', object('a', '7', 'blue'));
    await settle();
    assert.deepEqual(told, [['ns/a', 'red', undefined], ['ns/b', 'red', undefined], 'synced', ['ns/a', 'blue', 'red']]);
    informers.close();
  });

  it('an index follows, and has changed before anybody is told', async () => {
    const { informers, informer, stream, settle } = await setUp();
    const found = (color: string) => informer.indexed(byColor, color).map(({ metadata }) => metadata.name);
    assert.deepEqual(found('red'), ['a', 'b']);
    const seen: unknown[] = [];
    informer.follow({ changed: () => void seen.push([found('red'), found('blue')]) });
    seen.length = 0;
    stream.event('MODIFIED', object('a', '6', 'blue')).event('DELETED', object('b', '7', 'red'));
    await settle();
    assert.deepEqual(seen, [
      [['b'], ['a']],
      [[], ['a']],
    ]);
    informers.close();
  });

  it('a write counts as seen when the copy has reached its version, and not before', async () => {
    const { informers, informer, stream, signal, isDone } = await setUp();
    assert.ok(await isDone(informer.reached('5', signal)));
    assert.ok(await isDone(informer.reached(undefined, signal)));
    const wait = informer.reached('10', signal);
    assert.equal(await isDone(wait), false);
    stream.event('ADDED', object('c', '9', 'red'));
    assert.equal(await isDone(wait), false);
    stream.event('ADDED', object('d', '10', 'red'));
    assert.ok(await isDone(wait));
    informers.close();
  });

  it('a deletion counts as seen when the object is gone, leaves, or is another one', async () => {
    const { informers, informer, stream, signal, isDone } = await setUp();
    const wait = informer.deleted('ns/a', 'uid-a', signal);
    assert.equal(await isDone(wait), false);
    const { metadata, ...rest } = object('a', '6', 'red');
    stream.event('MODIFIED', { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    assert.ok(await isDone(wait));
    assert.ok(await isDone(informer.deleted('ns/b', 'former', signal)));
    assert.ok(await isDone(informer.deleted('ns/none', 'any', signal)));
    informers.close();
  });

  it('a wait ends with its signal, and after a time in any case', async () => {
    const { informers, informer, clock, signal, isDone } = await setUp();
    const stop = new AbortController();
    const stopped = assert.rejects(informer.reached('10', stop.signal), /enough/);
    stop.abort(new Error('enough'));
    await stopped;
    const wait = informer.reached('10', signal);
    assert.equal(await isDone(wait), false);
    clock.advance(limits.ownWritesSeenMs);
    assert.ok(await isDone(wait));
    informers.close();
  });
});
