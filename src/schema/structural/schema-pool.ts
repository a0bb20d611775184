import { jsonText } from '../../base/json-text.ts';
import type { Constraint } from '../constraint.ts';
import type { Field, Schema } from '../schema.ts';

/**
 * Interns the parts of schemas: equal parts, of one version or of several, become one object. Real schemas repeat
 * themselves: conditions, references, templates of pods, and most of all versions of each other. Lives as long as what is
 * being read.
 */
export class SchemaPool {
  readonly #parts = new Map<string, object>();
  readonly #numbers = new Map<object, number>();

  schema(schema: Schema): Schema {
    return this.#intern(schema);
  }

  field(field: Field): Field {
    return this.#intern(field);
  }

  constraint(constraint: Constraint): Constraint {
    return this.#intern(constraint);
  }

  #intern<Part extends object>(part: Part): Part {
    const key = this.#keyOf(part);
    const known = this.#parts.get(key);
    if (known) return known as Part;
    this.#parts.set(key, part);
    this.#numbers.set(part, this.#numbers.size);
    return part;
  }

  /** The content of a value; parts of the pool stand in it by their numbers. */
  #keyOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}n` : jsonText(value);
    const number = this.#numbers.get(value);
    if (number !== undefined) return `#${number}`;
    let key = '';
    if (Array.isArray(value)) {
      for (const each of value) key += `${this.#keyOf(each)},`;
      return `[${key}]`;
    }
    for (const [name, each] of Object.entries(value)) key += `${JSON.stringify(name)}:${this.#keyOf(each)},`;
    return `{${key}}`;
  }
}
