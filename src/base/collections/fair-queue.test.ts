import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

/** `a1` is an item of key `a`. */
function queueOf(...items: readonly string[]): FairQueue<string, string> {
  const queue = new FairQueue<string, string>();
  for (const item of items) queue.add(item.charAt(0), item);
  return queue;
}

function drain(queue: FairQueue<string, string>): string[] {
  const order: string[] = [];
  for (let item = queue.first(); item !== undefined; item = queue.first()) {
    order.push(item);
    queue.passTurn();
    queue.delete(item.charAt(0), item);
  }
  return order;
}

test('keys take turns, and items of a key come in order', () => {
  const queue = queueOf('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2');
  assert.deepEqual([queue.size, queue.sizeOf('a'), queue.sizeOf('x')], [7, 4, 0]);
  assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  assert.equal(queue.size, 0);
});

test('a key that arrives late is served before those already served', () => {
  const queue = queueOf('a1', 'a2', 'a3');
  queue.passTurn();
  queue.delete('a', 'a1');
  queue.add('b', 'b1');
  queue.passTurn();
  assert.deepEqual(drain(queue), ['b1', 'a2', 'a3']);
});

test('items leave from anywhere, once', () => {
  const queue = queueOf('a1', 'a2', 'b1');
  queue.delete('a', 'a2');
  queue.delete('a', 'a2');
  queue.delete('b', 'a1');
  assert.deepEqual([...queue], ['a1', 'b1']);
  assert.equal(queue.size, 2);
});

test('an empty queue has no next item', () => {
  const queue = queueOf();
  queue.passTurn();
  assert.equal(queue.first(), undefined);
});
