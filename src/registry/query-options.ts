import { badRequest } from '../meta/status-error.ts';
import { booleanParameter, integerParameter } from '../request/request-info.ts';
import { decode } from '../schema/decode.ts';
import { type Field, type Infer, type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';

/**
 * Reads the options of a verb from its query by their schema, as kube-apiserver does: a parameter is named like its
 * field; the first of several values counts, except for lists, which take all; struct fields are accepted in bodies
 * only. A value of the wrong type is a 400. The verb decides which values it accepts.
 */
export function queryOptions<const S extends StructSchema>(schema: S, query: URLSearchParams): Infer<S> {
  // Most reads have no query. No option is required or has a default.
  if (query.size === 0) return noOptions as Infer<S>;
  const sent: Record<string, unknown> = {};
  for (const name of optionNames(schema)) {
    const field = schema.fields[name];
    if (field && query.has(name)) sent[name] = parameterValue(name, field, query);
  }
  const { value, errors } = decode(schema, sent);
  const [first] = errors;
  if (first) throw badRequest(`invalid value for query parameter ${first.path}: must be ${first.expected}`);
  return value as Infer<S>;
}

const noOptions: unknown = Object.freeze({});

function parameterValue(name: string, field: Field, query: URLSearchParams): unknown {
  const schema = schemaOf(field);
  switch (schema.type) {
    case 'string':
    case 'time':
      return query.get(name) ?? undefined;
    case 'boolean':
      return booleanParameter(query, name);
    case 'integer':
      return integerParameter(query, name);
    case 'list':
      return isOf(schema.items, 'integer') ? portNumbers(name, query) : query.getAll(name);
    default:
      return undefined;
  }
}

const isOf = (schema: Schema, type: Schema['type']): boolean => schema.type === type;

/** As published, lists of integers hold ports, several of which may stand in one value: `80,443`. */
const portNumbers = (name: string, query: URLSearchParams): readonly number[] =>
  query.getAll(name).flatMap((text) =>
    text.split(',').map((each) => {
      if (/^\d{1,5}$/.test(each) && Number(each) <= 65_535) return Number(each);
      throw badRequest(`invalid value for query parameter ${name}: ${JSON.stringify(each)}: must be a port`);
    }),
  );

/** Query of a verb that writes. */
interface WritingQuery {
  readonly query: URLSearchParams;
  readonly options: readonly StructSchema[];
  /** Names of options that only later releases define, and that this server does not support. */
  readonly later?: readonly string[];
}

/**
 * Rejects parameters that kube-apiserver ignores although the request would then write or delete what the client meant
 * to keep: a misspelled option (`dryrun`, `labelselector`, `propagation-policy`), an option of a later release, and an
 * option with two different values. Other unknown parameters are ignored, as in kube-apiserver.
 */
export function refuseMistakenParameters({ query, options, later = [] }: WritingQuery): void {
  if (query.size === 0) return;
  for (const name of new Set(query.keys())) {
    refuseMisspelled(name, options, 'query parameter');
    refuseStruct(name, options);
    if (later.includes(name)) {
      throw badRequest(`query parameter ${JSON.stringify(name)} is not supported by this server`);
    }
    const field = fieldOf(name, options);
    if (field && schemaOf(field).type !== 'list' && new Set(query.getAll(name)).size > 1) {
      throw badRequest(`query parameter ${JSON.stringify(name)} is given several values`);
    }
  }
}

/** Rejects a name that is not an option but looks like a misspelling of one. */
export function refuseMisspelled(name: string, options: readonly StructSchema[], what: string): void {
  const names = options.flatMap(optionNames);
  if (names.includes(name)) return;
  const normalized = normalizedName(name);
  const meant = names.find((each) => normalizedName(each) === normalized);
  if (meant !== undefined) {
    throw badRequest(`unknown ${what} ${JSON.stringify(name)}: did you mean ${JSON.stringify(meant)}?`);
  }
}

/** A struct cannot be given as a parameter: `preconditions`, `preconditions.uid`. */
function refuseStruct(name: string, options: readonly StructSchema[]): void {
  for (const { fields } of options) {
    for (const [known, field] of Object.entries(fields)) {
      if (schemaOf(field).type === 'struct' && normalizedName(name).startsWith(normalizedName(known))) {
        throw badRequest(`query parameter ${JSON.stringify(name)}: ${known} is read from the body of a request only`);
      }
    }
  }
}

/** Fields without a number (`kind`, `apiVersion`) identify the object and are not options. */
const optionNames = ({ fields }: StructSchema): readonly string[] =>
  Object.keys(fields).filter((name) => fields[name]?.number !== 0);

const fieldOf = (name: string, options: readonly StructSchema[]): Field | undefined =>
  options.find(({ fields }) => Object.hasOwn(fields, name))?.fields[name];

/** The letters of a name, ignoring case, separators and a plural s. */
const normalizedName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/s$/, '');
