import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import {
  describeFieldError,
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  invalidMap,
  invalidName,
  invalidTexts,
  notSupported,
  required,
  tooLong,
  tooMany,
} from './field-error.ts';

/** Every kind of error, its type and its text. */
const rows: readonly (readonly [error: FieldError, type: string, text: string])[] = [
  [required('a'), 'FieldValueRequired', 'Required value'],
  [required('a', 'say which'), 'FieldValueRequired', 'Required value: say which'],
  [invalid('a', 'B_d', 'must be small'), 'FieldValueInvalid', 'Invalid value: "B_d": must be small'],
  [invalid('a', '', 'must be set'), 'FieldValueInvalid', 'Invalid value: "": must be set'],
  [invalid('a', 0, 'too small'), 'FieldValueInvalid', 'Invalid value: 0: too small'],
  [invalid('a', false, 'must hold'), 'FieldValueInvalid', 'Invalid value: false: must hold'],
  [invalid('a', null, 'must be one'), 'FieldValueInvalid', 'Invalid value: "null": must be one'],
  [invalid('a', ['b', 'c'], 'odd'), 'FieldValueInvalid', 'Invalid value: []string{"b", "c"}: odd'],
  [invalid('a', [], 'odd'), 'FieldValueInvalid', 'Invalid value: []string(nil): odd'],
  [invalidName('a', 'b', 'odd'), 'FieldValueInvalid', 'Invalid value: b: odd'],
  [invalidTexts('a', ['b'], 'odd', 'core.Scope'), 'FieldValueInvalid', 'Invalid value: []core.Scope{"b"}: odd'],
  [
    invalidMap('a', { c: 'd', b: '"' }, 'odd'),
    'FieldValueInvalid',
    'Invalid value: map[string]string{"b":"\\"", "c":"d"}: odd',
  ],
  [invalid('a', { b: [1] }, 'odd'), 'FieldValueInvalid', 'Invalid value: {"b":[1]}: odd'],
  [invalid('a', 2n ** 63n, 'too large'), 'FieldValueInvalid', 'Invalid value: 9223372036854775808: too large'],
  [invalid('a', 'say "hi"', 'no'), 'FieldValueInvalid', 'Invalid value: "say \\"hi\\"": no'],
  [duplicate('a[1]', 'x'), 'FieldValueDuplicate', 'Duplicate value: "x"'],
  [notSupported('a', 'z', ['y', 'x']), 'FieldValueNotSupported', 'Unsupported value: "z": supported values: "x", "y"'],
  [forbidden('a', 'may not change'), 'FieldValueForbidden', 'Forbidden: may not change'],
  [tooLong('a', 63), 'FieldValueTooLong', 'Too long: may not be more than 63 bytes'],
  [tooMany('a', 9, 8), 'FieldValueTooMany', 'Too many: 9: must have at most 8 items'],
  [
    { type: 'FieldValueTypeInvalid', field: 'a', detail: 'must be a string' },
    'FieldValueTypeInvalid',
    'Invalid value: must be a string',
  ],
  [{ type: 'FieldValueNotFound', field: 'a', value: 'b', detail: '' }, 'FieldValueNotFound', 'Not found: "b"'],
  [{ type: 'InternalError', field: 'a', detail: 'of ours' }, 'InternalError', 'Internal error: of ours'],
];

for (const [error, type, text] of rows) {
  test(text, () => {
    assert.equal(error.type, type);
    assert.match(error.field, /^a/);
    assert.equal(describeFieldError(error), text);
  });
}

test("the caller's list of supported values is not reordered", () => {
  const supported = ['b', 'a'];
  notSupported('f', 'x', supported);
  assert.deepEqual(supported, ['b', 'a']);
});

describe('the errors of each item', () => {
  test('come in order, with the index of the item', () => {
    const errors = errorsOfEach(['x', 'ok', 'y'], (item, index) =>
      item === 'ok' ? [] : [required(`list[${index}]`), invalid(`list[${index}]`, item, 'no')],
    );
    assert.deepEqual(
      errors.map(({ type, field }) => `${type} ${field}`),
      [
        'FieldValueRequired list[0]',
        'FieldValueInvalid list[0]',
        'FieldValueRequired list[2]',
        'FieldValueInvalid list[2]',
      ],
    );
  });

  test('end at the limit, and later items are not checked', () => {
    let looked = 0;
    const errors = errorsOfEach(Array(limits.findingsMax * 3).fill(0), (_, index) => {
      looked++;
      return [required(`a[${index}]`), required(`b[${index}]`)];
    });
    assert.equal(errors.length, limits.findingsMax);
    assert.ok(looked <= limits.findingsMax / 2 + 1, `${looked} items were looked at`);
  });
});
