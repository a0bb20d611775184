import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, tooLong } from '../../meta/field-error.ts';
import { bool, bytes, map, opt, ptr, string } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { validateDataKeys } from './data-keys.ts';

const schema = kindSchema(
  'api.core.v1.ConfigMap',
  'Configuration for others to read, as keys and values.',
  {
    immutable: ptr(4, bool(), 'True means that the data can never change again; neither can this field.'),
    data: opt(2, map(string()), 'Values that are text, in UTF-8.'),
    binaryData: opt(3, map(bytes()), 'Values that are any bytes; no key may stand in data as well.'),
  },
  { freeze: { by: 'immutable', fields: ['data', 'binaryData'] } },
);

/** Path of errors about the whole ConfigMap, as in kube-apiserver. */
const wholeObject = '[]';

function validate(object: ApiObject): FieldError[] {
  const { data = {}, binaryData = {} } = typed(schema, object);
  const errors = [
    ...errorsOfEach(Object.keys(data), (key) => [
      ...validateDataKeys({ [key]: '' }, 'data'),
      ...(Object.hasOwn(binaryData, key) ? [invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')] : []),
    ]),
    ...validateDataKeys(binaryData, 'binaryData'),
  ];
  let size = 0;
  for (const value of Object.values(data)) size += Buffer.byteLength(value);
  for (const value of Object.values(binaryData)) size += Buffer.byteLength(value, 'base64');
  if (size > limits.dataBytesMax) errors.push(tooLong(wholeObject, limits.dataBytesMax));
  return errors;
}

function entries(object: ApiObject): number {
  const { data = {}, binaryData = {} } = typed(schema, object);
  return Object.keys(data).length + Object.keys(binaryData).length;
}

export const configMap = (_dialect: Dialect): Kind =>
  defineKind({
    kind: 'ConfigMap',
    shortNames: ['cm'],
    schema,
    columns: [nameColumn, column('Data', 'Number of values.', entries), ageColumn],
    strategy: { validateCreate: validate, validateUpdate: validate },
  });
