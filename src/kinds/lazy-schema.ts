import type { StructSchema } from '../schema/schema.ts';
import { buildStructuralSchema } from '../schema/structural/structural-schema.ts';
import { internSchema } from './intern-kind.ts';
import type { Kind } from './kind.ts';
import { objectMeta } from './meta/object-meta.ts';

/** A schema that is built when it is needed first: of many kinds few are used. */
export class LazySchema {
  #build: (() => StructSchema) | undefined;
  #built: StructSchema | undefined;

  constructor(build: () => StructSchema) {
    this.#build = build;
  }

  get value(): StructSchema {
    if (this.#build) {
      this.#built = internSchema(this.#build());
      this.#build = undefined;
    }
    return this.#built as StructSchema;
  }
}

const schemas = new WeakMap<Kind, LazySchema>();

/** The kind with another schema. Copies of it have the schema that was built. */
export function withLazySchema(kind: Omit<Kind, 'schema'>, schema: LazySchema): Kind {
  const made: Kind = {
    ...kind,
    get schema() {
      return schema.value;
    },
  };
  schemas.set(made, schema);
  return made;
}

/** What all schemas that are built later have in common: the fields of every object. None has a protobuf form. */
const outline: StructSchema = buildStructuralSchema({ type: 'object' }, { objectMeta });

/** The schema, or what is known of it without building it: for questions to which every custom kind has the same answer. */
export const outlineOf = (kind: Kind): StructSchema => (isLazy(kind) ? outline : kind.schema);

export const isLazy = (kind: Kind): boolean => schemas.has(kind);

/** Whether two kinds have the same schema. Builds none if both are of one definition. */
export function hasSameSchema(a: Kind, b: Kind): boolean {
  const schema = schemas.get(a);
  return (schema !== undefined && schema === schemas.get(b)) || a.schema === b.schema;
}
