import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Constraint } from '../constraint.ts';
import type { Field, Schema, StructSchema } from '../schema.ts';

/** Takes the parts of a schema that is being read, and returns those that it is built of. */
export interface SchemaParts {
  schema(schema: Schema): Schema;
  field(field: Field): Field;
  constraint(constraint: Constraint): Constraint;
}

/** For a schema that is not kept. */
export const separateParts: SchemaParts = {
  schema: (schema) => schema,
  field: (field) => field,
  constraint: (constraint) => constraint,
};

/**
 * Interns the parts of schemas: equal parts, of one version or of several, become one object. Real schemas repeat
 * themselves: conditions, references, templates of pods, and most of all versions of each other. Lives as long as what is
 * being read.
 */
export class SchemaPool implements SchemaParts {
  readonly #parts = new Map<string, object>();
  readonly #numbers = new Map<object, number>();
  /** Fields with nothing but a schema, which most are. */
  readonly #plainFields = new Map<unknown, Field>();

  /** How many different parts it has. */
  get size(): number {
    return this.#numbers.size;
  }

  schema(schema: Schema): Schema {
    return schema.type === 'struct' && hasVeryManyFields(schema) ? this.#adopt(schema) : this.#intern(schema);
  }

  field(field: Field): Field {
    if (field.default !== undefined || field.description !== undefined) return this.#intern(field);
    return getOrAdd(this.#plainFields, field.schema, () => this.#intern(field));
  }

  constraint(constraint: Constraint): Constraint {
    return this.#intern(constraint);
  }

  #intern<Part extends object>(part: Part): Part {
    const key = this.#keyOf(part);
    const known = this.#parts.get(key);
    if (known) return known as Part;
    this.#parts.set(key, part);
    return this.#adopt(part);
  }

  #adopt<Part extends object>(part: Part): Part {
    this.#numbers.set(part, this.#numbers.size);
    return part;
  }

  /** The content of a value; parts of the pool stand in it by their numbers. */
  #keyOf(value: unknown): string {
    if (typeof value === 'string') return `${value.length}"${value}`;
    if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}n` : String(value);
    const number = this.#numbers.get(value);
    if (number !== undefined) return `#${number}`;
    let key = '';
    if (Array.isArray(value)) {
      for (const each of value) key += `${this.#keyOf(each)},`;
      return `[${key}]`;
    }
    const record = value as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(record)) key += `${name.length}:${name}${this.#keyOf(record[name])},`;
    return `{${key}}`;
  }
}

/** Structs with more fields are not compared: that would take long at once, and no real ones are that wide. */
const comparedFieldsMax = 1_000;

function hasVeryManyFields({ fields }: StructSchema): boolean {
  let left = comparedFieldsMax;
  for (const _ in fields) if (left-- === 0) return true;
  return false;
}
