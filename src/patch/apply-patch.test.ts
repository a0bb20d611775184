import assert from 'node:assert/strict';
import { test } from 'node:test';
import { list, map, opt, string, struct } from '../schema/schema.ts';
import { applyPatch, type PatchType } from './apply-patch.ts';

const schema = struct('Thing', '', {
  marks: opt(1, list(string(), { patchStrategy: 'merge' }), ''),
  labels: opt(2, map(string()), ''),
});
const original = { marks: ['a'], labels: { x: '1' } };

test('each type of patch has its own way with lists', () => {
  const change = { marks: ['b'], labels: { y: '2' } };
  const labels = { x: '1', y: '2' };
  const applied = (type: PatchType, patch: unknown): unknown => applyPatch({ type, schema, original, patch });
  assert.deepEqual(applied('merge', change), { marks: ['b'], labels });
  assert.deepEqual(applied('strategic', change), { marks: ['b', 'a'], labels });
  assert.deepEqual(applied('json', [{ op: 'add', path: '/marks/-', value: 'b' }]), { ...original, marks: ['a', 'b'] });
});

test('a document of the wrong form is a 400', () => {
  for (const [type, patch, message] of [
    ['json', {}, 'expected an array of operations, got object'],
    ['merge', [], 'expected an object, got array'],
    ['merge', null, 'expected an object, got null'],
    ['strategic', 1n, 'expected an object, got number'],
  ] as const) {
    assert.throws(() => applyPatch({ type, schema, original, patch }), {
      reason: 'BadRequest',
      message: `error decoding patch: ${message}`,
    });
  }
});
