import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { ApiClient } from './api-client.ts';
import { Informer } from './informer.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const object = (name: string, color: string) => ({
  metadata: { name, namespace: 'ns', resourceVersion: '1' },
  color,
});
const listOf = (...items: readonly object[]) => ({ metadata: { resourceVersion: '1' }, items });

function setUp() {
  const server = new ScriptedServer();
  const clock = new ManualClock();
  const told: unknown[] = [];
  const informer = new Informer<unknown>({
    client: new ApiClient(server, 'test'),
    path: '/c',
    clock,
    random: noJitter,
    logger: silentLogger,
    select: (each) => each['color'],
    changed: (key, now, before) => void told.push([key, now, before, informer.get(key)]),
    synced: () => void told.push('synced'),
  });
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 10; turns++) await turn();
  };
  return { server, clock, told, informer, settle };
}

describe('the informer', () => {
  it('holds the selected part of each object, and reports changes after applying them', async () => {
    const { server, told, informer, settle } = setUp();
    assert.equal(informer.synced, false);
    server.answer(200, listOf(object('a', 'red'), object('b', 'green')));
    const stream = server.stream();
    await settle();
    assert.ok(informer.synced);
    stream
      .event('ADDED', object('c', 'blue'))
      .event('MODIFIED', object('a', 'pink'))
      .event('DELETED', object('b', 'x'));
    await settle();
    assert.deepEqual(told, [
      ['ns/a', 'red', undefined, 'red'],
      ['ns/b', 'green', undefined, 'green'],
      'synced',
      ['ns/c', 'blue', undefined, 'blue'],
      ['ns/a', 'pink', 'red', 'pink'],
      ['ns/b', undefined, 'green', undefined],
    ]);
    assert.deepEqual([...informer.keys()].sort(), ['ns/a', 'ns/c']);
    informer.close();
  });

  it('reports after a gap the objects created and deleted during it', async () => {
    const { server, clock, told, informer, settle } = setUp();
    server.answer(200, listOf(object('a', 'red'), object('b', 'green')));
    server.answer(410, { kind: 'Status', code: 410, reason: 'Expired' });
    await settle();
    told.length = 0;
    server.answer(200, listOf(object('b', 'lime'), object('c', 'blue')));
    server.stream();
    clock.advance(100);
    await settle();
    assert.deepEqual(told, [
      ['ns/a', undefined, 'red', undefined],
      ['ns/b', 'lime', 'green', 'lime'],
      ['ns/c', 'blue', undefined, 'blue'],
    ]);
    informer.close();
    informer.close();
    await settle();
    assert.equal(clock.pending, 0);
  });
});
