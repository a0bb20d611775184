import type { Clock } from '../base/time/clock.ts';
import type { Steps } from '../base/time/in-slices.ts';
import type { StructSchema } from '../schema/schema.ts';
import { buildStructuralSchema } from '../schema/structural/structural-schema.ts';
import type { Kind } from './kind.ts';
import { objectMeta } from './meta/object-meta.ts';

/** What schemas are built of. Another thread builds them of the same. */
export interface SchemaOrigin {
  readonly revision: string;
  /** A definition, as it is stored. */
  readonly bytes: Uint8Array;
}

/** A schema that is built when it is needed first: of many kinds few are used. */
export interface LazySchema {
  readonly origin: SchemaOrigin;
  /** Of the versions that it is built with. */
  readonly version: string;
  /** Text that identifies what the schema is built of, for all servers of a store. */
  readonly revision: string;
  readonly isBuilt: boolean;
  /** Builds it at once unless it is built: whoever serves others waits for `ready` before. */
  readonly value: StructSchema;
  /**
   * Builds it in slices of time unless it is built, together with others that ask for it meanwhile. Undefined if there is
   * nothing to wait for.
   */
  ready(clock: Pick<Clock, 'monotonic'>): Promise<void> | undefined;
  /** Builds the schema with titles and descriptions. */
  described(): Steps<StructSchema>;
}

const schemas = new WeakMap<object, LazySchema>();

export const lazySchemaOf = (kind: object): LazySchema | undefined => schemas.get(kind);

/** The kind with another schema. Copies of it have the schema that was built. */
export function withLazySchema(kind: Omit<Kind, 'schema'>, schema: LazySchema): Kind {
  const made = { ...kind };
  Object.defineProperty(made, 'schema', { get: builtSchema, enumerable: true, configurable: true });
  schemas.set(made, schema);
  return made as Kind;
}

/** One function for all, so that they have one hidden class. */
function builtSchema(this: object): StructSchema | undefined {
  return schemas.get(this)?.value;
}

/** What all schemas that are built later have in common: the fields of every object. None has a protobuf form. */
const outline: StructSchema = buildStructuralSchema({ type: 'object' }, { objectMeta });

/** The schema, or what is known of it without building it: for questions to which every custom kind has the same answer. */
export const outlineOf = (kind: Pick<Kind, 'schema'>): StructSchema => (isLazy(kind) ? outline : kind.schema);

export const isLazy = (kind: object): boolean => schemas.has(kind);

/** True unless the schema is still to be built. */
export const isSchemaReady = (kind: Kind): boolean => schemas.get(kind)?.isBuilt ?? true;

/** Resolves when the schema of a kind can be had without delay. Undefined if it can: nearly always. */
export const schemaReady = (kind: Kind, clock: Pick<Clock, 'monotonic'>): Promise<void> | undefined =>
  schemas.get(kind)?.ready(clock);

/** Whether two kinds have the same schema. Builds none if both are of one definition. */
export function hasSameSchema(a: Kind, b: Kind): boolean {
  const schema = schemas.get(a);
  return (schema !== undefined && schema === schemas.get(b)) || a.schema === b.schema;
}
