import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClosableStack } from './disposable.ts';

const recorded = (closed: string[], name: string) => ({ name, close: () => void closed.push(name) });

test('closes in reverse order of addition, each once', () => {
  const closed: string[] = [];
  const stack = new ClosableStack();
  for (const name of ['a', 'b', 'c']) stack.add(recorded(closed, name));
  assert.deepEqual(closed, []);
  stack.close();
  stack.close();
  assert.deepEqual(closed, ['c', 'b', 'a']);
});

test('add returns its argument', () => {
  const held = recorded([], 'a');
  assert.equal(new ClosableStack().add(held), held);
});

test('a closable added after closing is closed at once', () => {
  const closed: string[] = [];
  const stack = new ClosableStack();
  stack.close();
  stack.add(recorded(closed, 'late'));
  assert.deepEqual(closed, ['late']);
  stack.close();
  assert.deepEqual(closed, ['late']);
});

test('a closable added while the stack closes is closed too', () => {
  const closed: string[] = [];
  const stack = new ClosableStack();
  stack.add(recorded(closed, 'first'));
  stack.add({ close: () => void stack.add(recorded(closed, 'meanwhile')) });
  stack.close();
  assert.deepEqual(closed, ['meanwhile', 'first']);
});
