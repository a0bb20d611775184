import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFieldError, type FieldError } from '../meta/field-error.ts';
import { isLabelValue } from '../meta/formats.ts';
import { always, bool, enumOf, int32, list, map, opt, ptr, type StructSchema, string, struct } from './schema.ts';
import { validate } from './validate.ts';
import { validateUpdate } from './validate-update.ts';

const texts = (errors: readonly FieldError[]): string[] =>
  errors.map((error) => `${error.field}: ${describeFieldError(error)}`);

const text = (): ReturnType<typeof ptr> => ptr(1, string(), 'A text.');
const members = { a: text(), b: text(), c: text() };
const holder = (it: StructSchema): StructSchema => struct('test.Holder', 'Holds it.', { it: ptr(1, it, 'It.') });

const pair = struct('test.Pair', 'A pair.', { a: text(), b: text() });
const items = (unique: Parameters<typeof list>[1]): StructSchema =>
  struct('test.Items', 'Items.', { list: opt(1, list(pair, unique), 'Pairs.') });
const selector = struct(
  'test.Selector',
  'Selects.',
  {
    matchLabels: opt(1, map(string()), 'Labels.'),
    matchExpressions: opt(
      2,
      list(
        struct('test.Expression', 'One.', {
          key: always(1, string(), 'Key.'),
          operator: always(2, string(), 'Operator.'),
          values: opt(3, list(string()), 'Values.'),
        }),
      ),
      'Conditions.',
    ),
  },
  { selects: 'labels' },
);
const dependent = struct('test.Dependent', 'Depends.', {
  a: opt(1, string(), 'Needed with b or d.', { requiredWith: { fields: ['b', 'd'], detail: 'with b' } }),
  b: text(),
  c: opt(3, list(string()), 'Only with b.', { onlyWith: { fields: ['b'], detail: 'b is not set' } }),
  d: opt(4, bool(), 'A flag.'),
});

const conditional = struct(
  'test.Conditional',
  'Checked in parts.',
  {
    part: opt(1, enumOf('x', 'y'), 'Part.', { checkedWhile: { valid: 'selector' } }),
    other: opt(2, enumOf('x', 'y'), 'Other.', { checkedWhile: { field: 'mode', is: 'strict' } }),
    mode: opt(3, enumOf('strict', 'loose'), 'Mode.'),
    selector: ptr(4, selector, 'Selector.'),
  },
  { checkedFirst: ['selector', 'mode'] },
);

const rows: Readonly<
  Record<string, { schema: StructSchema; rows: readonly (readonly [value: unknown, ...errors: string[]])[] }>
> = {
  'checked on a condition, in an order of its own': {
    schema: conditional,
    rows: [
      [{ part: 'z' }, 'it.part: Unsupported value: "z": supported values: "x", "y"'],
      [{ part: 'z', selector: {} }, 'it.part: Unsupported value: "z": supported values: "x", "y"'],
      [{ other: 'z' }],
      [{ other: 'z', mode: 'loose' }],
      [{ other: 'z', mode: 'strict' }, 'it.other: Unsupported value: "z": supported values: "x", "y"'],
      [
        { part: 'z', mode: 'odd', selector: { matchLabels: { a: 'a b' } } },
        `it.selector.matchLabels: Invalid value: "a b": ${isLabelValue('a b').join()}`,
        'it.mode: Unsupported value: "odd": supported values: "loose", "strict"',
      ],
    ],
  },
  'at most one of': {
    schema: struct('test.VolumeSource', 'One of several.', members, { union: { fields: ['b', 'a', 'c'] } }),
    rows: [
      [{}],
      [{ a: 'x' }],
      [
        { a: 'x', b: '', c: 'z' },
        'it.a: Forbidden: may not specify more than 1 volume type',
        'it.c: Forbidden: may not specify more than 1 volume type',
      ],
    ],
  },
  'exactly one of': {
    schema: struct('test.Choice', 'One of several.', members, {
      union: {
        fields: ['a', 'b'],
        none: { type: 'required', detail: 'choose' },
      },
    }),
    rows: [
      [{ a: 'x' }],
      [{ c: 'x' }, 'it: Required value: choose'],
      [{ a: 'x', b: 'y' }, 'it.b: Forbidden: may not specify more than 1 choice type'],
    ],
  },
  'a member that is one too many is not looked at': {
    schema: struct(
      'test.Choice',
      'One of several.',
      { a: ptr(1, string(), 'One.'), b: ptr(2, string({ lengthMax: 1 }), 'Other.') },
      { union: { fields: ['a', 'b'] } },
    ),
    rows: [
      [{ b: 'xx' }, 'it.b: Too long: may not be more than 1 bytes'],
      [{ a: 'x', b: 'xx' }, 'it.b: Forbidden: may not specify more than 1 choice type'],
    ],
  },
  'a range with words of its own': {
    schema: struct('test.Range', 'A number.', {
      a: ptr(1, int32({ minimum: 1, maximum: 3, rangeText: 'must be few' }), 'A number.'),
    }),
    rows: [[{ a: 3 }], [{ a: 4 }, 'it.a: Invalid value: 4: must be few']],
  },
  'empty values that are checked': {
    schema: struct('test.Names', 'Names.', {
      a: always(1, string({ lengthMin: 1 }), 'A name.', { checkedEmpty: true }),
      b: always(2, string({ lengthMin: 1 }), 'A name.'),
    }),
    rows: [[{ a: '', b: '' }, 'it.a: Invalid value: "": must be at least 1 characters']],
  },
  'unique by one key': {
    schema: items({ unique: { by: ['a'] } }),
    rows: [
      [{ list: [{ a: 'x' }, { a: 'y' }, {}, {}] }],
      [{ list: [{ a: 'x' }, { a: 'x' }] }, 'it.list[1].a: Duplicate value: "x"'],
    ],
  },
  'unique by one key, after all else that is wrong with an item': {
    schema: struct('test.Names', 'Names.', {
      list: opt(
        1,
        list(struct('test.Named', 'A name.', { a: ptr(1, string({ lengthMax: 1 }), 'A name.') }), {
          unique: { by: ['a'] },
        }),
        'Names.',
      ),
    }),
    rows: [
      [
        { list: [{ a: 'xx' }, { a: 'xx' }] },
        'it.list[0].a: Too long: may not be more than 1 bytes',
        'it.list[1].a: Too long: may not be more than 1 bytes',
        'it.list[1].a: Duplicate value: "xx"',
      ],
    ],
  },
  'unique by one key, at the element': {
    schema: items({ unique: { by: ['a'], at: 'element' } }),
    rows: [[{ list: [{ a: 'x' }, { a: 'x' }] }, 'it.list[1]: Duplicate value: "x"']],
  },
  'unique by keys': {
    schema: items({ unique: { by: ['a', 'b'], shows: 'element', detail: 'as pairs' } }),
    rows: [
      [{ list: [{ a: 'x' }, { b: 'x' }, { a: 'x', b: 'x' }] }],
      [
        {
          list: [
            { a: 'x', b: 'y' },
            { b: 'y', a: 'x' },
          ],
        },
        'it.list[1]: Duplicate value: {"b":"y","a":"x"}: as pairs',
      ],
    ],
  },
  'unique in place of the keys of a list': {
    schema: items({ listType: 'map', mapKeys: ['a'], unique: { by: ['b'] } }),
    rows: [
      [{ list: [{ a: 'x' }, { a: 'x' }] }],
      [{ list: [{ b: 'x' }, { b: 'x' }] }, 'it.list[1].b: Duplicate value: "x"'],
    ],
  },
  'required with': {
    schema: dependent,
    rows: [
      [{ b: '' }],
      [{ a: 'x', b: 'y' }],
      [{ b: 'y' }, 'it.a: Required value: with b'],
      [{ d: true }, 'it.a: Required value: with b'],
      [{ d: false }],
    ],
  },
  'only with': {
    schema: dependent,
    rows: [
      [{ c: [] }],
      [{ a: 'x', b: 'y', c: ['z'] }],
      [{ c: ['z'] }, 'it.c: Forbidden: b is not set'],
      [{ c: ['z'], b: '' }, 'it.c: Forbidden: b is not set'],
    ],
  },
  'a label selector': {
    schema: selector,
    rows: [
      [
        {
          matchLabels: { a: 'b' },
          matchExpressions: [
            { key: 'a', operator: 'In', values: ['b'] },
            { key: 'a', operator: 'Exists' },
          ],
        },
      ],
      [
        {
          matchExpressions: [
            { key: 'a', operator: 'In' },
            { key: 'a', operator: 'DoesNotExist', values: ['b'] },
            { key: 'a', operator: 'Gt', values: ['b'] },
          ],
        },
        "it.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "it.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        'it.matchExpressions[2].operator: Invalid value: "Gt": not a valid selector operator',
      ],
    ],
  },
};

for (const [name, { schema, rows: cases }] of Object.entries(rows)) {
  test(name, () => {
    for (const [it, ...errors] of cases) assert.deepEqual(texts(validate(holder(schema), { it })), errors);
  });
}

const changing = struct(
  'test.Changing',
  'Changes.',
  {
    once: opt(1, string(), 'Once set.', { immutable: true }),
    never: opt(2, string(), 'Never.', { immutable: 'always' }),
    worded: ptr(3, pair, 'With its own text.', {
      immutable: { when: 'always', problem: { type: 'forbidden', detail: 'stays' } },
    }),
    frozen: ptr(4, bool(), 'Freezes.'),
    data: opt(5, map(string()), 'Data.'),
  },
  { freeze: { by: 'frozen', fields: ['data'] } },
);

const changes: readonly (readonly [name: string, old: unknown, value: unknown, ...errors: string[]])[] = [
  ['nothing', { never: 'x', data: {} }, { never: 'x' }],
  ['once set: set', {}, { once: 'x' }],
  ['once set: changed', { once: 'x' }, {}, 'it.once: Invalid value: "null": field is immutable'],
  ['always: set', {}, { never: 'x' }, 'it.never: Invalid value: "x": field is immutable'],
  ['always: taken away', { never: 'x' }, {}, 'it.never: Invalid value: "": field is immutable'],
  ['with a text of its own', { worded: { a: 'x' } }, { worded: { a: 'y' } }, 'it.worded: Forbidden: stays'],
  ['frozen: nothing changes', { frozen: true, data: { a: 'b' } }, { frozen: true, data: { a: 'b' } }],
  ['frozen: not yet', { frozen: false, data: { a: 'b' } }, { frozen: true }],
  [
    'frozen: changed',
    { frozen: true, data: { a: 'b' } },
    { data: {} },
    'it.frozen: Forbidden: field is immutable when `frozen` is set',
    'it.data: Forbidden: field is immutable when `frozen` is set',
  ],
];

for (const [name, old, it, ...errors] of changes) {
  test(`a change, ${name}`, () => {
    assert.deepEqual(texts(validateUpdate(holder(changing), { it }, { it: old })), errors);
  });
}
