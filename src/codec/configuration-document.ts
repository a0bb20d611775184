import { describeFieldError, type FieldError } from '../meta/field-error.ts';
import { decode } from '../schema/decode.ts';
import { isRecord } from '../schema/own-property.ts';
import type { Infer, StructSchema } from '../schema/schema.ts';
import type { ParsedJson } from './json.ts';
import { parseYaml } from './yaml.ts';

/** An invalid configuration file. Each problem names its field; the message lists all of them. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

/** Throws a ConfigurationError if there are errors. */
export function requireNoErrors(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new ConfigurationError(errors.map((error) => `${error.field}: ${describeFieldError(error)}`));
}

interface ConfigurationKind<S extends StructSchema> {
  readonly kind: string;
  /** Accepted versions, which share one schema. */
  readonly apiVersions: readonly string[];
  /** A name that the kind had before, and is still read under. */
  readonly former?: { readonly apiVersion: string; readonly kind: string };
  /** Without `apiVersion` and `kind`. */
  readonly schema: S;
}

/**
 * Reads a configuration file in YAML or JSON: one document of the expected kind, without unknown or duplicate fields or
 * values of the wrong type. Does not default or validate. Throws a ConfigurationError, with the position of a syntax error.
 */
export const readConfiguration = <const S extends StructSchema>(
  bytes: Uint8Array,
  expected: ConfigurationKind<S>,
): Infer<S> => decodeConfiguration(parseText(bytes), expected);

function parseText(bytes: Uint8Array): ParsedJson {
  try {
    return parseYaml(bytes);
  } catch (error) {
    throw new ConfigurationError([error instanceof Error ? error.message : String(error)]);
  }
}

/** `readConfiguration` for a parsed document. */
export function decodeConfiguration<const S extends StructSchema>(
  { value, duplicates }: ParsedJson,
  expected: ConfigurationKind<S>,
): Infer<S> {
  if (!isRecord(value)) throw new ConfigurationError([`expected an object of kind ${expected.kind}`]);
  const { apiVersion, kind, ...fields } = value;
  const { former } = expected;
  const isFormer = former !== undefined && apiVersion === former.apiVersion && kind === former.kind;
  const mistaken = isFormer
    ? []
    : [...oneOf('apiVersion', apiVersion, expected.apiVersions), ...oneOf('kind', kind, [expected.kind])];
  if (mistaken.length > 0) throw new ConfigurationError(mistaken);
  const decoded = decode(expected.schema, fields);
  const problems = [
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...decoded.unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...decoded.errors.map(({ path, expected: wanted, got }) => `${path}: expected ${wanted}, got ${got}`),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return decoded.value;
}

function oneOf(field: string, value: unknown, accepted: readonly string[]): readonly string[] {
  if (accepted.some((each) => each === value)) return [];
  const wanted = accepted.map((each) => JSON.stringify(each)).join(', ');
  if (value === undefined || value === null) return [`${field}: Required value: supported values: ${wanted}`];
  return [`${field}: Unsupported value: ${JSON.stringify(value)}: supported values: ${wanted}`];
}
