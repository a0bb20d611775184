import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnservedDefinitions } from './unserved-definitions.ts';

const isSettled = async (waiting: Promise<void> | undefined): Promise<boolean> =>
  waiting === undefined || (await Promise.race([waiting.then(() => true), Promise.resolve().then(() => false)]));

test('a group is settled when every change of its definitions was taken up, others are at once', async () => {
  const unserved = new UnservedDefinitions();
  assert.equal(unserved.settled('a.example'), undefined);
  unserved.add('ones.a.example');
  const first = unserved.begin('ones.a.example');
  const waiting = unserved.settled('a.example');
  assert.equal(unserved.settled('b.example'), undefined);
  assert.equal(await isSettled(waiting), false);
  unserved.add('ones.a.example');
  unserved.add('twos.a.example');
  unserved.end('ones.a.example', first);
  assert.equal(await isSettled(waiting), false, 'it has changed since');
  unserved.end('ones.a.example', unserved.begin('ones.a.example'));
  assert.equal(await isSettled(waiting), false, 'another one of the group waits');
  const all = unserved.settled();
  unserved.end('twos.a.example', unserved.begin('twos.a.example'));
  await waiting;
  await all;
  assert.equal(unserved.settled('a.example'), undefined);
  assert.equal(unserved.settled(), undefined);
});
