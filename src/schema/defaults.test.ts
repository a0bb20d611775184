import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { applyDefaults } from './defaults.ts';
import { int32, list, map, opt, ptr, type StructSchema, string, struct } from './schema.ts';

const port = struct('test.v1.Port', 'A port.', {
  protocol: opt(1, string(), 'Protocol.', { default: 'TCP' }),
  number: ptr(2, int32(), 'Number.', { default: 80 }),
});

const options = struct('test.v1.Options', 'Options.', {
  mode: opt(1, string(), 'Mode.', { default: 'fast' }),
  tags: opt(2, list(string()), 'Tags.', { default: ['a', 'b'] }),
});

test('a default that says nothing is not written', () => {
  const named = struct('test.v1.Named', 'A name.', {
    name: opt(1, string(), 'Name.', { default: '' }),
    count: opt(2, int32(), 'Count.', { default: 0 }),
    given: ptr(3, string(), 'Told from absent.', { default: '' }),
  });
  const value = {};
  applyDefaults(named, value);
  assert.deepEqual(value, { given: '' });
});

const plain = struct('test.v1.Plain', 'No defaults.', { name: opt(1, string(), 'Name.') });

const thing: StructSchema = struct('test.v1.Thing', 'A thing.', {
  ports: opt(1, list(port), 'Ports.'),
  byName: opt(2, map(port), 'Ports by name.'),
  given: opt(3, options, 'Options with a default.', { default: {} }),
  absent: opt(4, options, 'Options without.'),
  next: opt(5, () => thing, 'Holds itself.'),
  plain: opt(6, plain, 'Nothing to fill.'),
});

test('absent fields of present structs get their defaults', () => {
  const value = {
    ports: [{}, { protocol: 'UDP', number: 0 }],
    byName: { a: { number: 1 }, __proto__: null },
    next: { absent: { mode: 'slow' } },
    plain: {},
  };
  applyDefaults(thing, value);
  const given = { mode: 'fast', tags: ['a', 'b'] };
  assert.deepEqual(structuredClone(value), {
    ports: [
      { protocol: 'TCP', number: 80 },
      { protocol: 'UDP', number: 0 },
    ],
    byName: { a: { protocol: 'TCP', number: 1 } },
    next: { absent: { mode: 'slow', tags: ['a', 'b'] }, given },
    plain: {},
    given,
  });
});

test('each default is a copy', () => {
  const [first, second] = [{}, {}] as { given?: { tags: string[] } }[];
  applyDefaults(thing, first);
  first?.given?.tags.push('c');
  applyDefaults(thing, second);
  assert.deepEqual(second?.given?.tags, ['a', 'b']);
});

test('a field with the name of a prototype property gets its default', () => {
  const odd = struct('test.v1.Odd', 'Odd.', {
    constructor: opt(1, string(), 'Odd.', { default: 'a' }),
  });
  const value = {};
  applyDefaults(odd, value);
  assert.equal(JSON.stringify(value), '{"constructor":"a"}');
});

test('defaulting is idempotent', () => {
  const value = { ports: [{}], next: {} };
  applyDefaults(thing, value);
  const once = structuredClone(value);
  applyDefaults(thing, value);
  assert.deepEqual(value, once);
});

test('defaults add a bounded number of values to an object', () => {
  const item = struct('test.v1.Item', 'An item.', { a: opt(1, string(), 'Text.', { default: 'x' }) });
  const schema = struct('test.v1.Items', 'Items.', { list: opt(1, list(item), 'Items.') });
  const itemsOf = (length: number) => ({ list: Array.from({ length }, () => ({})) });
  const largest = itemsOf(limits.defaultedValuesMax);
  applyDefaults(schema, largest);
  assert.deepEqual(largest.list.at(-1), { a: 'x' });
  assert.throws(() => applyDefaults(schema, itemsOf(limits.defaultedValuesMax + 1)), {
    reason: 'RequestEntityTooLarge',
    message: /defaults would add more than 100000 values/,
  });
});
