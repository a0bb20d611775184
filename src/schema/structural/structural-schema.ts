import type { Steps } from '../../base/time/in-slices.ts';
import type { FieldError } from '../../meta/field-error.ts';
import type { Schema, StructSchema } from '../schema.ts';
import { buildSchema, buildSchemaInSteps, type Descriptions } from './build-schema.ts';
import { defaultErrors } from './default-errors.ts';
import { asSchema } from './json-schema.ts';
import { patternErrors } from './pattern-errors.ts';
import { languageError, schemaErrors } from './schema-errors.ts';
import { type SchemaParts, SchemaPool } from './schema-pool.ts';
import { isUnsupported, structuralProblems } from './structural-problems.ts';
import { survey } from './survey.ts';

interface BuildOptions {
  /** ObjectMeta, for the metadata of the object and of objects embedded in it. */
  readonly objectMeta: StructSchema;
  /** Shares equal parts of schemas that are read together, such as those of all versions. Default: a pool of its own. */
  readonly pool?: SchemaParts;
  /** Default: `none`. */
  readonly descriptions?: Descriptions;
  /** Called with each part that has parts, after those. */
  readonly onPart?: (part: Schema) => void;
}

export interface StructuralOptions extends BuildOptions {
  /**
   * Path of the schema in errors: `spec.versions[0].schema.openAPIV3Schema`, or `spec.validation.openAPIV3Schema` where the
   * schemas of all versions are equal.
   */
  readonly path: string;
  /** Errors of the decoded metadata of an embedded object, for defaults of it. Paths start with `metadata`. */
  readonly validateMetadata: (metadata: unknown) => readonly FieldError[];
  /** Others wait: throws LongWork, or rejects with it, instead of doing what cannot be interrupted and takes long. */
  readonly inline?: boolean | undefined;
}

interface StructuralResult {
  /** Undefined if there are errors. */
  readonly schema?: StructSchema;
  /** Why a definition with this schema is refused. */
  readonly errors: readonly FieldError[];
  /** Those of `errors` that defaults have. */
  readonly ofDefaults?: readonly FieldError[];
}

/**
 * Reads the schema of one version of a custom resource, `openAPIV3Schema` as decoded JSON. Rules in CEL are taken over as
 * they are.
 */
export function readStructuralSchema(schema: unknown, options: StructuralOptions): StructuralResult {
  const { path } = options;
  const json = asSchema(schema);
  const { tooLarge, hasPatterns, hasDefaults } = survey(json, path);
  if (tooLarge) return { errors: [tooLarge] };
  const refused = schemaErrors(json, path);
  // A keyword that has an error of its own hides one that has none.
  if (isUnsupported(json)) return { errors: refused.length > 0 ? refused : [languageError(path)] };
  const problems = [
    ...structuralProblems(json, path),
    ...(hasPatterns ? patternErrors(json, path, options.inline) : []),
  ];
  if (problems.length > 0) return { errors: [...problems, ...refused] };
  const built = buildStructuralSchema(json, options);
  const ofDefaults = hasDefaults ? defaultErrors({ json, schema: built, path }, options) : [];
  const errors = [...ofDefaults, ...refused];
  return errors.length > 0 ? { errors, ofDefaults } : { schema: built, errors };
}

/**
 * Builds the schema of a definition that was checked when it was written. Of others, what can be read is: it never throws,
 * and unknown fields are pruned.
 */
export const buildStructuralSchema = (schema: unknown, options: BuildOptions): StructSchema =>
  buildSchema(asSchema(schema), complete(options));

/** The same, with a pause now and then for whoever iterates. */
export const buildStructuralSchemaInSteps = (schema: unknown, options: BuildOptions): Steps<StructSchema> =>
  buildSchemaInSteps(asSchema(schema), complete(options));

const complete = ({ objectMeta, pool = new SchemaPool(), descriptions = 'none', onPart }: BuildOptions) => ({
  ...{ objectMeta, pool, descriptions, onPart },
});
