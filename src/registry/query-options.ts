import { badRequest } from '../meta/status-error.ts';
import { booleanParameter, integerParameter } from '../request/request-info.ts';
import { decode } from '../schema/decode.ts';
import { type Field, type Infer, type StructSchema, schemaOf } from '../schema/schema.ts';

/**
 * Reads the options of a verb from a query, by their schema, as published: a parameter has the name of its field; of
 * several values the first counts, but for lists, which take all; fields that are structs stand in bodies only. A value
 * that is not of its type is a 400. Whether an option takes the value is the verb's to say.
 */
export function queryOptions<const S extends StructSchema>(schema: S, query: URLSearchParams): Infer<S> {
  // No option is required, and none has a default: as most reads have it.
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
  switch (schemaOf(field).type) {
    case 'string':
      return query.get(name) ?? undefined;
    case 'boolean':
      return booleanParameter(query, name);
    case 'integer':
      return integerParameter(query, name);
    case 'list':
      return query.getAll(name);
    default:
      return undefined;
  }
}

/** What a verb that writes reads of a query. */
interface WritingQuery {
  readonly query: URLSearchParams;
  readonly options: readonly StructSchema[];
  /** Names that the options of later releases have, and that are not understood here. */
  readonly later?: readonly string[];
}

/**
 * Refuses what published servers overlook and what would then write or delete what the client meant to keep: an option
 * that is spelled otherwise (`dryrun`, `labelselector`, `propagation-policy`), one that only later releases know, and one
 * that is given two values. Other parameters are none of ours and ignored, as published.
 */
export function refuseMistaken({ query, options, later = [] }: WritingQuery): void {
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

/** Refuses a name that is no option but that a reader takes for one. */
export function refuseMisspelled(name: string, options: readonly StructSchema[], what: string): void {
  const names = options.flatMap(optionNames);
  if (names.includes(name)) return;
  const sound = soundOf(name);
  const meant = names.find((each) => soundOf(each) === sound);
  if (meant !== undefined) {
    throw badRequest(`unknown ${what} ${JSON.stringify(name)}: did you mean ${JSON.stringify(meant)}?`);
  }
}

/** No parameter gives a struct: `preconditions`, `preconditions.uid`. */
function refuseStruct(name: string, options: readonly StructSchema[]): void {
  for (const { fields } of options) {
    for (const [known, field] of Object.entries(fields)) {
      if (schemaOf(field).type === 'struct' && soundOf(name).startsWith(soundOf(known))) {
        throw badRequest(`query parameter ${JSON.stringify(name)}: ${known} is read from the body of a request only`);
      }
    }
  }
}

/** Fields without a number say what an object is, and are no options. */
const optionNames = ({ fields }: StructSchema): readonly string[] =>
  Object.keys(fields).filter((name) => fields[name]?.number !== 0);

const fieldOf = (name: string, options: readonly StructSchema[]): Field | undefined =>
  options.find(({ fields }) => Object.hasOwn(fields, name))?.fields[name];

/** The letters of a name, without case, separators and plural. */
const soundOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/s$/, '');
