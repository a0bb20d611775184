import type { FieldError } from '../../meta/field-error.ts';
import type { StructSchema } from '../schema.ts';
import { buildSchema } from './build-schema.ts';
import { asSchema } from './json-schema.ts';
import { SchemaPool } from './schema-pool.ts';

interface StructuralOptions {
  /**
   * Path of the schema in errors: `spec.versions[0].schema.openAPIV3Schema`, or `spec.validation.openAPIV3Schema` where the
   * schemas of all versions are equal.
   */
  readonly path: string;
  /** ObjectMeta, for the metadata of the object and of objects embedded in it. */
  readonly objectMeta: StructSchema;
  /** Shares equal parts of schemas that are read together, such as those of all versions. Default: a pool of its own. */
  readonly pool?: SchemaPool;
  /** Keeps descriptions, for documents. Default: they are left out, to save memory. */
  readonly descriptions?: boolean;
}

interface StructuralResult {
  /** Undefined if there are errors. */
  readonly schema?: StructSchema;
  readonly errors: readonly FieldError[];
}

/** Reads the schema of one version of a custom resource, `openAPIV3Schema` as decoded JSON. */
export function readStructuralSchema(schema: unknown, options: StructuralOptions): StructuralResult {
  const { objectMeta, pool = new SchemaPool(), descriptions = false } = options;
  return { schema: buildSchema(asSchema(schema), { objectMeta, pool, descriptions }), errors: [] };
}
