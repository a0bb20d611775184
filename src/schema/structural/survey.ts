import { limits } from '../../base/limits.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { isRecord } from '../own-property.ts';
import type { JsonSchema } from './json-schema.ts';

/** What a first look at a schema tells, at the cost of counting. */
interface Survey {
  /** The schema is too large to be worked with. */
  readonly tooLarge?: FieldError;
  readonly hasDefaults: boolean;
  readonly hasPatterns: boolean;
}

/**
 * Counts the parts of a schema, no further than the limits allow. They bound the time that reading takes, and every later
 * check of an object. Real schemas stay a factor of three and more below them.
 */
export function survey(schema: JsonSchema, path: string): Survey {
  const surveyor = new Surveyor();
  surveyor.visit(schema, undefined);
  const { problem, hasDefaults, hasPatterns } = surveyor;
  return { hasDefaults, hasPatterns, ...(problem !== undefined && { tooLarge: invalid(path, '', problem) }) };
}

/** Schemas in the junctors of one field. */
interface Alternatives {
  count: number;
}

class Surveyor {
  hasDefaults = false;
  hasPatterns = false;
  problem: string | undefined;
  #parts = 0;
  #defaultValues = 0;
  #defaultCharacters = 0;

  visit(schema: JsonSchema, within: Alternatives | undefined): void {
    this.#count(1, within);
    let alternatives = within;
    for (const keyword of Object.keys(schema)) {
      if (this.problem !== undefined) return;
      const value = schema[keyword];
      switch (keyword) {
        case 'properties':
        case 'patternProperties':
        case 'definitions':
        case 'dependencies':
          this.#visitNamed(value, within);
          break;
        case 'items':
        case 'additionalProperties':
        case 'additionalItems':
          this.#visitSome(value, within);
          break;
        case 'allOf':
        case 'anyOf':
        case 'oneOf':
        case 'not':
          alternatives ??= { count: 0 };
          this.#visitSome(value, alternatives);
          break;
        case 'enum':
          this.#count(Array.isArray(value) ? value.length : 0, within);
          break;
        case 'default':
          this.hasDefaults = true;
          this.#countDefault(value);
          break;
        case 'pattern':
          this.hasPatterns = true;
      }
    }
  }

  #countDefault(value: unknown): void {
    if (typeof value === 'string') this.#defaultCharacters += value.length;
    if (++this.#defaultValues > limits.schemaDefaultsMax) {
      this.problem ??= `must have no more than ${limits.schemaDefaultsMax} values in all defaults`;
    }
    if (this.#defaultCharacters > limits.schemaDefaultCharactersMax) {
      this.problem ??= `must have no more than ${limits.schemaDefaultCharactersMax} characters in all defaults`;
    }
    if (this.problem !== undefined || typeof value !== 'object' || value === null) return;
    for (const part of Object.values(value)) this.#countDefault(part);
  }

  #visitNamed(schemas: unknown, within: Alternatives | undefined): void {
    if (!isRecord(schemas)) return;
    for (const name of Object.keys(schemas)) {
      const each = schemas[name];
      if (isRecord(each) && this.problem === undefined) this.visit(each, within);
    }
  }

  /** One schema or several. */
  #visitSome(schemas: unknown, within: Alternatives | undefined): void {
    if (isRecord(schemas)) this.visit(schemas, within);
    else if (Array.isArray(schemas)) for (const each of schemas) if (isRecord(each)) this.visit(each, within);
  }

  #count(parts: number, within: Alternatives | undefined): void {
    this.#parts += parts;
    if (this.#parts > limits.schemaPartsMax) {
      this.problem ??= `must have no more than ${limits.schemaPartsMax} schemas and values of enums`;
    }
    if (!within) return;
    within.count += parts;
    if (within.count > limits.schemaAlternativesMax) {
      this.problem ??= `must have no more than ${limits.schemaAlternativesMax} schemas in allOf, anyOf, oneOf and not`;
    }
  }
}
