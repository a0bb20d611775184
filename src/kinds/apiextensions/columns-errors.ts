import { limits } from '../../base/limits.ts';
import { boundedCount, errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import type { DefinitionVersion } from './custom-resource-definition.ts';
import { simplePathErrors } from './simple-path.ts';

const types = ['boolean', 'date', 'integer', 'number', 'string'];
const formats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

type Columns = NonNullable<DefinitionVersion['additionalPrinterColumns']>;

export const columnsErrors = (columns: Columns, path: string): FieldError[] => [
  ...boundedCount(path, columns.length, limits.printerColumnsMax),
  ...errorsOfEach(columns, (column, index) => columnErrors(column, `${path}[${index}]`)),
];

function columnErrors({ name = '', type = '', format = '', jsonPath = '' }: Columns[number], path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`));
  const known = `must be one of ${types.join(',')}`;
  if (type === '') errors.push(required(`${path}.type`, known));
  else if (!types.includes(type)) errors.push(invalid(`${path}.type`, type, known));
  if (format !== '' && !formats.includes(format)) {
    errors.push(invalid(`${path}.format`, format, `must be one of ${formats.join(',')}`));
  }
  // Spelled as published.
  const field = `${path}.JSONPath`;
  if (jsonPath === '') errors.push(required(field));
  else errors.push(...simplePathErrors(jsonPath, field));
  return errors;
}
