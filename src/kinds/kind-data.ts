import { identityOf } from '../base/collections/shared-content.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Kind } from './kind.ts';
import { type LazySchema, lazySchemaOf, withLazySchema } from './lazy-schema.ts';
import { renamedFields } from './stored-as.ts';

/** A kind without functions, which can be posted to another thread. */
export interface KindData {
  readonly kind: Omit<Kind, 'storedAs' | 'schema'>;
  /** Absent if it is built of something else: a large one would take long to be copied. */
  readonly schema?: StructSchema;
  readonly builtOf?: SchemaReference;
  /** For a version stored as another kind: its renamed fields, see `renamedFields`. */
  readonly storedNames?: Readonly<Record<string, string>>;
}

/** A schema, by what it is built of (`SchemaOrigin`). */
interface SchemaReference {
  /** Identity of the origin on the thread that has it. */
  readonly origin: number;
  readonly revision: string;
  readonly version: string;
}

/** A kind that came from another thread. */
export interface RestoredKind extends Pick<KindData, 'storedNames'> {
  readonly kind: Omit<Kind, 'storedAs'>;
}

const known = new WeakMap<Kind, { readonly data: KindData | undefined }>();

/** Undefined if any part of the kind is a function. Builds no schema. */
export function kindData(kind: Kind): KindData | undefined {
  let found = known.get(kind);
  if (!found) {
    found = { data: dataOf(kind) };
    known.set(kind, found);
  }
  return found.data;
}

function dataOf(kind: Kind): KindData | undefined {
  const lazy = lazySchemaOf(kind);
  const { storedAs } = kind;
  const own = Object.keys(kind).filter((name) => name !== 'storedAs' && name !== 'schema') as (keyof Kind)[];
  const copy = Object.fromEntries(own.map((name) => [name, kind[name]])) as unknown as KindData['kind'];
  if (!isData(copy, new Set()) || (!lazy && !isData(kind.schema, new Set()))) return undefined;
  const schema = lazy ? { builtOf: referenceTo(lazy) } : { schema: kind.schema };
  if (!storedAs) return { kind: copy, ...schema };
  return storedAs.names && { kind: copy, ...schema, storedNames: storedAs.names };
}

const referenceTo = ({ origin, version }: LazySchema): SchemaReference => ({
  ...{ origin: identityOf(origin), version },
  revision: origin.revision,
});

function isData(value: unknown, seen: Set<object>): boolean {
  if (typeof value === 'function') return false;
  if (typeof value !== 'object' || value === null || seen.has(value)) return true;
  seen.add(value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Object.values(value).every((each) => isData(each, seen));
}

/** Restores a kind from its data. `lazy` is the schema that it refers to, if it does. */
export function restoreKind({ kind, schema, storedNames }: KindData, lazy: LazySchema | undefined): RestoredKind {
  const names = storedNames && { storedNames };
  if (lazy) return { kind: withLazySchema(kind, lazy), ...names };
  if (!schema) throw new TypeError('a kind has a schema');
  return { kind: { ...kind, schema }, ...names };
}

/** The kinds of a resource, the stored one first. */
export function kindsOfData([first, ...others]: readonly RestoredKind[]): readonly Kind[] {
  if (!first) return [];
  const stored = first.kind;
  const versions = others.map(({ kind, storedNames }) =>
    storedNames ? { ...kind, storedAs: renamedFields(stored, kind, storedNames) } : kind,
  );
  return [stored, ...versions];
}
