import type { Steps } from '../base/time/in-slices.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { BodyKind } from './body-kind.ts';
import type { GroupVersionKind, Kind } from './kind.ts';
import { lazySchemaOf, outlineOf } from './lazy-schema.ts';

/** What documents say of kinds whose schemas are built when they are needed, which they need not be for this. */

/** As `outlineOf`, with the name of the kind, to which documents refer. */
export function namedOutlineOf(kind: BodyKind): StructSchema {
  if (!lazySchemaOf(kind)) return kind.schema;
  return { ...outlineOf(kind), name: documentedName(kind), description: `objects of the kind ${kind.kind}.` };
}

/** The schema with titles and descriptions, of which the server itself has no need. It is made anew and not kept. */
export function* describedSchema(kind: Kind): Steps<StructSchema> {
  const lazy = lazySchemaOf(kind);
  return lazy ? { ...(yield* lazy.described()), name: documentedName(kind) } : kind.schema;
}

/**
 * Text that identifies what documents say of a kind, for all servers of a store: everything but the schema, and what that
 * is read of. Undefined if the schema is not built later.
 */
export function contentOfLazy(kind: Kind): string | undefined {
  const lazy = lazySchemaOf(kind);
  if (!lazy) return undefined;
  const names = Object.keys(kind).filter((name) => name !== 'schema') as (keyof Kind)[];
  const values = names.map((name) => [name, kind[name]] as const).filter(([, value]) => value !== undefined);
  return JSON.stringify([lazy.revision, ...values]);
}

/** As published: `com.example.v1.Widget`. */
const documentedName = ({ group, version, kind }: GroupVersionKind): string =>
  [...group.split('.').reverse(), version, kind].join('.');
