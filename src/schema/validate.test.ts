import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required as missing,
  notSupported,
  tooLong,
  tooMany,
} from '../meta/field-error.ts';
import { isDnsLabel, isQualifiedName } from '../meta/formats.ts';
import {
  always,
  bool,
  bytes,
  int32,
  int64,
  list,
  map,
  opt,
  ptr,
  req,
  type Schema,
  type StructSchema,
  string,
  struct,
} from './schema.ts';
import { validate } from './validate.ts';

const source = struct(
  'test.v1.VolumeSource',
  'One of several.',
  {
    file: ptr(1, string(), 'A file.'),
    empty: opt(2, struct('test.v1.Empty', 'Nothing.', {}), 'Nothing.'),
    size: opt(3, int32(), 'Beside.'),
  },
  { union: { fields: ['file', 'empty'] } },
);

const port = struct('test.v1.Port', 'A port.', {
  number: req(1, int32({ minimum: 1, maximum: 65535 }), 'Number.'),
  protocol: opt(2, string({ enum: ['TCP', 'UDP'] }), 'Protocol.'),
});

const node: StructSchema = struct('test.v1.Node', 'Holds itself.', {
  name: req(1, string(), 'Name.'),
  next: opt(2, () => node, 'Next.'),
});

const within = (schema: Schema): StructSchema => struct('test.v1.Within', 'Holds it.', { it: opt(1, schema, 'It.') });

const rows: readonly [what: string, schema: Schema, value: unknown, errors: readonly FieldError[]][] = [
  ['a struct without constraints', within(bool()), { it: true }, []],
  ['required and there', port, { number: 1 }, []],
  ['required and absent', port, {}, [missing('number')]],
  ['required and null', port, { number: null }, [missing('number')]],
  ['required and empty', node, { name: '' }, [missing('name')]],
  ['required bytes and empty', struct('test.v1.B', 'B.', { b: req(1, bytes(), 'B.') }), { b: '' }, [missing('b')]],
  ['required list and empty', struct('test.v1.L', 'L.', { l: req(1, list(string()), 'L.') }), { l: [] }, []],
  ['within itself', node, { name: 'a', next: { name: 'b', next: {} } }, [missing('next.next.name')]],
  ['below the range', port, { number: 0 }, [invalid('number', 0, 'must be between 1 and 65535, inclusive')]],
  ['above the range', port, { number: 65536 }, [invalid('number', 65536, 'must be between 1 and 65535, inclusive')]],
  [
    'below a minimum',
    within(int32({ minimum: 0 })),
    { it: -1 },
    [invalid('it', -1, 'must be greater than or equal to 0')],
  ],
  [
    'above a maximum',
    within(int64({ maximum: 9 })),
    { it: 2n ** 60n },
    [invalid('it', 2n ** 60n, 'must be less than or equal to 9')],
  ],
  ['not in the list', port, { number: 1, protocol: 'tcp' }, [notSupported('protocol', 'tcp', ['TCP', 'UDP'])]],
  ['in the list', port, { number: 1, protocol: 'UDP' }, []],
  [
    'a format',
    within(string({ format: 'dnsLabel' })),
    { it: 'A' },
    isDnsLabel('A').map((text) => invalid('it', 'A', text)),
  ],
  ['too long', within(string({ lengthMax: 3 })), { it: 'ää' }, [tooLong('it', 3)]],
  ['long enough', within(string({ lengthMin: 2, lengthMax: 4 })), { it: 'ää' }, []],
  ['too short', within(string({ lengthMin: 3 })), { it: 'ää' }, [invalid('it', 'ää', 'must be at least 3 characters')]],
  [
    'a key of a map',
    within(map(string(), { keyFormat: 'qualifiedName' })),
    { it: { '-': '', a: '' } },
    isQualifiedName('-').map((text) => invalid('it', '-', text)),
  ],
  ['a value of a map', within(map(port)), { it: { 'a/b': {} } }, [missing('it[a/b].number')]],
  ['an element', within(list(port)), { it: [{ number: 1 }, {}] }, [missing('it[1].number')]],
  ['too few', within(list(string(), { itemsMin: 2 })), { it: ['a'] }, [invalid('it', 1, 'must have at least 2 items')]],
  ['none at all', within(list(string(), { itemsMin: 1 })), { it: [] }, [missing('it')]],
  ['too many', within(list(string(), { itemsMax: 1 })), { it: ['a', 'b'] }, [tooMany('it', 2, 1)]],
  ['the same in a list', within(list(string())), { it: ['a', 'a'] }, []],
  [
    'the same in a set',
    within(list(string(), { listType: 'set' })),
    { it: ['a', 'b', 'a'] },
    [duplicate('it[2]', 'a')],
  ],
  ['great numbers in a set', within(list(int64(), { listType: 'set' })), { it: [2n ** 60n, 2n ** 60n + 1n] }, []],
  [
    'the same key',
    within(list(node, { patchMergeKey: 'name' })),
    { it: [{ name: 'a' }, { name: 'a' }] },
    [duplicate('it[1].name', 'a')],
  ],
  [
    'no key',
    within(list(node, { patchMergeKey: 'name' })),
    { it: [{}, {}] },
    [missing('it[0].name'), missing('it[1].name')],
  ],
  [
    'the same keys',
    within(list(port, { listType: 'map', mapKeys: ['number', 'protocol'] })),
    {
      it: [
        { number: 1, protocol: 'TCP' },
        { number: 1, protocol: 'UDP' },
        { protocol: 'TCP', number: 1 },
      ],
    },
    [duplicate('it[2]', { number: 1, protocol: 'TCP' })],
  ],
  [
    'the same key where it may be',
    within(list(node, { patchMergeKey: 'name', duplicatesAllowed: true })),
    { it: [{ name: 'a' }, { name: 'a' }] },
    [],
  ],
  ['no member of a union', source, { size: 1 }, []],
  ['one member', source, { empty: {} }, []],
  ['two members', source, { empty: {}, file: '' }, [forbidden('empty', 'may not specify more than 1 volume type')]],
];

test('validation by a schema', () => {
  for (const [what, schema, value, errors] of rows) assert.deepEqual(validate(schema, value), errors, what);
});

test('paths begin with the given one', () => {
  assert.deepEqual(validate(port, {}, 'spec.ports[0]'), [missing('spec.ports[0].number')]);
  assert.deepEqual(validate(list(port), [{}], 'spec.ports'), [missing('spec.ports[0].number')]);
});

test('fields that are always present may be empty', () => {
  const schema = struct('test.v1.Status', 'Status.', {
    phase: always(1, string({ enum: ['Ready'] }), 'Phase.'),
    count: always(2, int32({ minimum: 1 }), 'Count.'),
    mode: ptr(3, string({ enum: ['On'] }), 'Mode.'),
  });
  assert.deepEqual(validate(schema, { phase: '', count: 0 }), []);
  assert.deepEqual(validate(schema, { phase: 'x', count: -1, mode: '' }), [
    notSupported('phase', 'x', ['Ready']),
    invalid('count', -1, 'must be greater than or equal to 1'),
    notSupported('mode', '', ['On']),
  ]);
});

test('a field with the name of a prototype property may be absent', () => {
  const schema = struct('test.v1.Odd', 'Odd.', { constructor: req(1, string(), 'Odd.') });
  assert.deepEqual(validate(schema, {}), [missing('constructor')]);
});

test('what is reported is bounded', () => {
  const errors = validate(
    list(port),
    Array.from({ length: 10_000 }, () => ({})),
  );
  assert.equal(errors.length, limits.findingsMax);
});
