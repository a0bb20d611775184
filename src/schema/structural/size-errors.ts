import { limits } from '../../base/limits.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { isRecord } from '../own-property.ts';
import { type JsonSchema, memberOf, schemaIn, schemasIn } from './json-schema.ts';

/**
 * The error of a schema that is too large to be worked with: bounds the time that reading and every later check of an
 * object takes. Real schemas stay a factor of three and more below the limits. Looks at no more than the limit allows.
 */
export function sizeErrors(schema: JsonSchema, path: string): readonly FieldError[] {
  const count = new Count();
  visit(schema, count, path);
  return count.error ? [count.error] : [];
}

class Count {
  parts = 0;
  /** Within the junctors of one field; undefined outside of them. */
  alternatives: number | undefined;
  error: FieldError | undefined;

  add(parts: number, path: string): void {
    this.parts += parts;
    if (this.parts > limits.schemaPartsMax) {
      const most = `must have no more than ${limits.schemaPartsMax} schemas and values of enums`;
      this.error ??= invalid(path, '', most);
    }
    if (this.alternatives === undefined) return;
    this.alternatives += parts;
    if (this.alternatives > limits.schemaAlternativesMax) {
      const most = `must have no more than ${limits.schemaAlternativesMax} schemas in allOf, anyOf, oneOf and not`;
      this.error ??= invalid(path, '', most);
    }
  }
}

const junctors = ['allOf', 'anyOf', 'oneOf'];
const named = ['properties', 'patternProperties', 'definitions', 'dependencies'];
const single = ['items', 'additionalProperties', 'additionalItems'];

function visit(schema: JsonSchema, count: Count, path: string): void {
  const values = memberOf(schema, 'enum');
  count.add(1 + (Array.isArray(values) ? values.length : 0), path);
  if (count.error) return;
  const outside = count.alternatives === undefined;
  for (const each of junctors.flatMap((name) => [...schemasIn(schema, name)])) visitWithin(each, count, path, outside);
  const not = schemaIn(schema, 'not');
  if (not) visitWithin(not, count, path, outside);
  if (outside) count.alternatives = undefined;
  for (const name of named) visitAll(memberOf(schema, name), count, path);
  for (const name of single) visitAll([memberOf(schema, name)].flat(), count, path);
}

/** A schema in a junctor. */
function visitWithin(schema: JsonSchema, count: Count, path: string, outside: boolean): void {
  if (outside) count.alternatives ??= 0;
  visit(schema, count, path);
}

/** The schemas of a list, or of an object by name. */
function visitAll(schemas: unknown, count: Count, path: string): void {
  if (typeof schemas !== 'object' || schemas === null) return;
  for (const each of Object.values(schemas)) {
    if (count.error) return;
    if (isRecord(each)) visit(each, count, path);
  }
}
