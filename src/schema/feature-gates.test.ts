import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropDisabledFields } from './feature-gates.ts';
import { list, map, opt, ptr, type StructSchema, string, struct } from './schema.ts';

const part = struct('test.Part', 'A part.', {
  name: opt(1, string(), 'Name.'),
  fresh: ptr(2, string(), 'New.', { gate: 'Fresh' }),
  steady: ptr(3, string(), 'Not so new.', { gate: 'Steady' }),
});
const box = struct('test.Box', 'A box.', {
  name: opt(1, string(), 'Name.'),
  glass: ptr(2, string(), 'Of glass.', { gate: 'Fresh', whileOff: 'itemGoes' }),
  lid: ptr(3, string(), 'Lid.', { gate: 'Steady' }),
});
const label = struct('test.Label', 'A label.', {
  name: opt(1, string(), 'Name of a box.', { refersTo: 'test.Box' }),
});
const anyName: StructSchema = {
  ...struct('test.Open', 'Fields of any name.', { one: opt(1, part, 'A part.') }),
  additional: part,
};
const thing: StructSchema = struct('test.Thing', 'A thing.', {
  parts: opt(1, list(part), 'Parts.'),
  byName: opt(2, map(part), 'Parts.'),
  within: ptr(3, part, 'A part.', { gate: 'Fresh' }),
  next: ptr(4, () => thing, 'Next.'),
  open: opt(5, anyName, 'Open.'),
  boxes: opt(6, list(box), 'Boxes.'),
  labels: opt(7, list(label), 'Labels.'),
  kept: opt(9, list(part), 'Parts that stay as they are.', { keepsGatedFields: true }),
  mode: ptr(8, string(), 'Mode.', { gate: 'Fresh', whileOff: { becomes: 'plain' } }),
});

const full = { name: 'a', fresh: 'x', steady: 'y' };
const left = { name: 'a', steady: 'y' };

const rows: readonly (readonly [name: string, value: object, old: object | undefined, kept: object])[] = [
  ['in a list', { parts: [full, { name: 'b' }] }, undefined, { parts: [left, { name: 'b' }] }],
  ['in a map', { byName: { k: full } }, {}, { byName: { k: left } }],
  ['a whole struct', { within: full }, undefined, {}],
  ['far below', { next: { next: { parts: [full] } } }, undefined, { next: { next: { parts: [left] } } }],
  ['in a field of any name', { open: { one: full, k: { ...full } } }, undefined, { open: { one: left, k: left } }],
  ['in use elsewhere', { parts: [full] }, { byName: { k: { fresh: '' } } }, { parts: [full] }],
  ['another field of the feature in use', { parts: [full] }, { within: { name: 'x' } }, { parts: [full] }],
  ['another feature in use', { parts: [full] }, { parts: [left] }, { parts: [left] }],
  ['where they are kept', { kept: [{ ...full }], parts: [{ ...full }] }, undefined, { kept: [full], parts: [left] }],
  ['in use where they are kept', { parts: [{ ...full }] }, { kept: [full] }, { parts: [left] }],
  ['with a value while it is off', { mode: 'fine' }, undefined, { mode: 'plain' }],
  ['with that value in use', { mode: 'fine' }, { mode: 'plain' }, { mode: 'plain' }],
  ['with another value in use', { mode: 'fine' }, { mode: 'bold' }, { mode: 'fine' }],
  [
    'whose item goes with what refers to it',
    { boxes: [{ name: 'a', glass: 'x' }, { name: 'b' }], next: { labels: [{ name: 'a' }, { name: 'b' }] } },
    undefined,
    { boxes: [{ name: 'b' }], next: { labels: [{ name: 'b' }] } },
  ],
  [
    'all of whose items go',
    { boxes: [{ name: 'a', glass: 'x', lid: 'y' }], labels: [{ name: 'a' }] },
    { boxes: [{ name: 'a' }] },
    {},
  ],
  ['whose item is in use', { boxes: [{ glass: 'x' }] }, { boxes: [{ glass: 'y' }] }, { boxes: [{ glass: 'x' }] }],
  ['nothing there', {}, undefined, {}],
];

for (const [name, value, old, kept] of rows) {
  test(`fields of a feature that is off: ${name}`, () => {
    const [changed, before] = [structuredClone(value), structuredClone(old)];
    dropDisabledFields(thing, changed, old, new Set(['Steady']));
    assert.deepEqual(changed, kept);
    assert.deepEqual(old, before, 'the old value stays');
    const same = structuredClone(value);
    dropDisabledFields(thing, same, old, new Set(['Fresh', 'Steady']));
    assert.deepEqual(same, value, 'with the feature on nothing goes');
  });
}
