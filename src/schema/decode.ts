import { limits } from '../base/limits.ts';
import { joinPath } from './field-path.ts';
import { getOwn, isRecord, setOwn } from './own-property.ts';
import { canonicalQuantity } from './quantity.ts';
import { type Field, type Infer, type IntegerSchema, type Schema, type StructSchema, schemaOf } from './schema.ts';
import { canonicalTime } from './time.ts';

/** A value that is not of its field's type. `<path>: expected <expected>, got <got>`. */
interface TypeMismatch {
  /** `spec.containers[0].name`; keys of maps are steps like fields. '' is the value itself. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

export interface Decoded<T> {
  /** A copy that shares only immutable parts and raw (`any`) values with the input. Not to be used when there are errors. */
  readonly value: T;
  /** Paths of fields that the schema does not know, in the order of the input. They are not in `value`. */
  readonly unknown: readonly string[];
  readonly errors: readonly TypeMismatch[];
  /** Findings of either sort beyond `limits.findingsMax`; absent where there are none. */
  readonly omitted?: number;
}

/**
 * Reads a parsed JSON value as a schema says: checks types, drops unknown fields and those that presence drops, and puts
 * times, base64 and quantities in canonical form. Struct fields come out in the order of the schema, and after them those
 * that it keeps without naming them. Names match case and all. Where null is no value of its own it is absent; as an element
 * of a list or map it is the zero value. Decoding what was decoded changes nothing.
 *
 * Integers that a JavaScript number can't hold exactly (past 2^53, in int64 fields and raw values) are bigints; so
 * arithmetic on an int64 field from a client starts with Number() or BigInt().
 *
 * Does not default, and does not ask for required fields.
 */
export function decode<const S extends Schema>(schema: S, value: unknown): Decoded<Infer<S>> {
  const findings = new Findings();
  const decoded = decoderOf(schema)(value ?? null, findings);
  const { list, omitted } = findings;
  if (list.length === 0) return { value: decoded as Infer<S>, unknown: nothing, errors: nothing };
  return {
    value: decoded as Infer<S>,
    unknown: list.filter((finding) => finding.type === 'unknown').map(({ path }) => path),
    errors: list
      .filter((finding) => finding.type === 'mismatch')
      .map(({ path, expected, got }) => ({ path, expected, got })),
    ...(omitted > 0 && { omitted }),
  };
}

const nothing: readonly never[] = [];

/** Made with a path relative to where it was found; each caller up the way puts its step in front. */
type Finding = { path: string; step: string } & (
  | { readonly type: 'unknown' }
  | { readonly type: 'mismatch'; readonly expected: string; readonly got: string }
);

/** Past the limit findings are only counted: by then the client has enough to mend, and the answer stays bounded. */
class Findings {
  readonly list: Finding[] = [];
  omitted = 0;

  get full(): boolean {
    return this.list.length >= limits.findingsMax;
  }

  add(finding: Finding): void {
    if (this.full) this.omitted++;
    else this.list.push(finding);
  }
}

/** `value` is not undefined. */
type Decoder = (value: unknown, findings: Findings) => unknown;

const decoders = new WeakMap<Schema, Decoder>();

function decoderOf(schema: Schema): Decoder {
  let decoder = decoders.get(schema);
  if (!decoder) {
    decoder = compile(schema);
    decoders.set(schema, decoder);
  }
  return decoder;
}

function compile(schema: Schema): Decoder {
  switch (schema.type) {
    case 'string':
      return (value, findings) => (typeof value === 'string' ? value : mismatch(findings, 'string', value));
    case 'boolean':
      return (value, findings) => (typeof value === 'boolean' ? value : mismatch(findings, 'boolean', value));
    case 'integer':
      return compileInteger(schema);
    case 'number':
      return decodeNumber;
    case 'bytes':
      return decodeBytes;
    case 'time':
      return compileTime(schema.precision);
    case 'quantity':
      return decodeQuantity;
    case 'intOrString':
      return compileIntOrString(schema.format ?? 'int32');
    case 'any':
      return schema.of === 'value'
        ? (value) => value
        : (value, findings) => (isRecord(value) ? value : mismatch(findings, 'object', value));
    case 'map':
      return compileMap(schema.values);
    case 'list':
      return compileList(schema.items);
    case 'struct':
      return compileStruct(schema);
  }
}

function mismatch(findings: Findings, expected: string, value: unknown, got = describe(value)): unknown {
  findings.add({ type: 'mismatch', path: '', step: '', expected, got });
  return value;
}

/** The JSON type of a value. */
function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

const shownLengthMax = 64;

/** The value itself, cut where it is long, for fields whose values are no secret. */
const show = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value.length > shownLengthMax ? `${value.slice(0, shownLengthMax)}...` : value)
    : String(value);

const integerRanges = {
  int32: { min: -(2 ** 31), max: 2 ** 31 - 1 },
  int64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
} as const;

function compileInteger({ format }: Pick<IntegerSchema, 'format'>): Decoder {
  const { min, max } = integerRanges[format];
  return (value, findings) => {
    if (typeof value !== 'number' && typeof value !== 'bigint') return mismatch(findings, 'integer', value);
    if (typeof value === 'number' && !Number.isInteger(value)) return mismatch(findings, 'integer', value, show(value));
    if (value < min || value > max) return mismatch(findings, `integer in the range of ${format}`, value, show(value));
    return exactInteger(value);
  };
}

/** A number where it holds the integer exactly, else a bigint; never -0. */
function exactInteger(value: number | bigint): number | bigint {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : BigInt(value);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const decodeNumber: Decoder = (value, findings) => {
  const number = typeof value === 'bigint' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : mismatch(findings, 'number', value);
};

const base64Chars = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * RFC 4648 section 4, padded. Line breaks are taken out, and bits that no byte uses are cleared. Says nothing
 * of the value: it may be a secret.
 */
const decodeBytes: Decoder = (value, findings) => {
  if (typeof value !== 'string') return mismatch(findings, 'base64 string', value);
  const canonical = Buffer.from(value, 'base64').toString('base64');
  if (canonical === value) return value;
  const joined = value.replaceAll(/[\r\n]/g, '');
  const valid = joined.length % 4 === 0 && base64Chars.test(joined);
  return valid ? canonical : mismatch(findings, 'base64 string', value, 'string that is not base64');
};

function compileTime(precision: 'second' | 'micro'): Decoder {
  const expected = `RFC 3339 time (e.g. "2006-01-02T15:04:05${precision === 'micro' ? '.000000' : ''}Z")`;
  return (value, findings) => {
    if (typeof value !== 'string') return mismatch(findings, expected, value);
    return canonicalTime(value, precision) ?? mismatch(findings, expected, value, show(value));
  };
}

const decodeQuantity: Decoder = (value, findings) => {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') {
    return mismatch(findings, 'quantity', value);
  }
  return canonicalQuantity(value) ?? mismatch(findings, 'quantity (e.g. "500m", "2Gi")', value, show(value));
};

function compileIntOrString(format: IntegerSchema['format']): Decoder {
  const integer = compileInteger({ format });
  return (value, findings) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'bigint') return integer(value, findings);
    return mismatch(findings, 'integer or string', value);
  };
}

/** What a null element of a list or map becomes, and an absent field that is always there. */
function zeroOf(schema: Schema): unknown {
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return '';
    case 'integer':
    case 'number':
    case 'intOrString':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'list':
      return [];
    case 'map':
    case 'struct':
      return {};
    case 'any':
      return schema.of === 'object' ? {} : null;
    case 'time':
      return null;
  }
}

/** Decodes an element of a list or map. */
function compileElement(schema: Schema): Decoder {
  const decoder = decoderOf(schema);
  if (schema.nullable) return (value, findings) => (value === null ? null : decoder(value, findings));
  return (value, findings) => decoder(value ?? zeroOf(schema), findings);
}

function compileMap(values: Schema): Decoder {
  const general = compileGeneralMap(values);
  if (values.type !== 'string' || values.nullable) return general;
  // The usual map is one of strings, and needs no more than a look at each.
  return (value, findings) => (isRecord(value) && holdsStrings(value) ? { ...value } : general(value, findings));
}

function holdsStrings(record: Record<string, unknown>): boolean {
  for (const key in record) if (typeof record[key] !== 'string') return false;
  return true;
}

function compileGeneralMap(values: Schema): Decoder {
  const element = compileElement(values);
  return (value, findings) => {
    if (!isRecord(value)) return mismatch(findings, 'object', value);
    const decoded: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      if (value[key] === undefined) continue;
      const found = findings.list.length;
      setOwn(decoded, key, element(value[key], findings));
      if (findings.list.length > found) prefix(findings, found, key);
    }
    return decoded;
  };
}

function compileList(items: Schema): Decoder {
  const element = compileElement(items);
  return (value, findings) => {
    if (!Array.isArray(value)) return mismatch(findings, 'array', value);
    const decoded: unknown[] = [];
    for (let i = 0; i < value.length; i++) {
      const found = findings.list.length;
      decoded.push(element(value[i], findings));
      if (findings.list.length > found) prefix(findings, found, `[${i}]`);
    }
    return decoded;
  };
}

function prefix({ list }: Findings, from: number, step: string): void {
  for (const finding of list.slice(from)) {
    finding.path = joinPath(step, finding.path);
    finding.step = step;
  }
}

interface FieldDecoder {
  readonly name: string;
  readonly decode: Decoder;
  /** Objects have something of this name that is not their own. */
  readonly inherited: boolean;
  readonly presence: Field['presence'];
  readonly nullable: boolean;
  readonly isZero: (decoded: unknown) => boolean;
  /** Makes the value of an absent field whose presence is `always`. */
  readonly absent: (findings: Findings) => unknown;
}

function compileStruct(struct: StructSchema): Decoder {
  // Made on first use, since structs may hold themselves.
  let fields: readonly FieldDecoder[] | undefined;
  const takeOthers = compileOthers(struct);
  return (value, findings) => {
    if (!isRecord(value)) return mismatch(findings, 'object', value);
    fields ??= Object.entries(struct.fields).map(([name, field]) => compileField(name, field));
    const decoded: Record<string, unknown> = {};
    const found = findings.list.length;
    let known = 0;
    for (const field of fields) if (decodeField(field, value, decoded, findings)) known++;
    if (known !== countKeys(value)) takeOthers(value, decoded, findings, found);
    return decoded;
  };
}

function compileField(name: string, field: Field): FieldDecoder {
  const schema = schemaOf(field);
  const decode = decoderOf(schema);
  return {
    name,
    decode,
    inherited: name in Object.prototype,
    presence: field.presence,
    nullable: schema.nullable ?? false,
    isZero: zeroTestOf(schema),
    absent: schema.type === 'struct' ? (findings) => decode({}, findings) : () => zeroOf(schema),
  };
}

/** What `implicit` fields are dropped for. Structs, raw values, times and quantities are never dropped. */
function zeroTestOf(schema: Schema): (decoded: unknown) => boolean {
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return (decoded) => decoded === '';
    case 'integer':
    case 'number':
      return (decoded) => decoded === 0;
    case 'boolean':
      return (decoded) => decoded === false;
    case 'list':
      return (decoded) => Array.isArray(decoded) && decoded.length === 0;
    case 'map':
      return (decoded) => isRecord(decoded) && isEmpty(decoded);
    default:
      return () => false;
  }
}

function isEmpty(record: Record<string, unknown>): boolean {
  for (const _ in record) return false;
  return true;
}

/** True when the input has the field. */
function decodeField(
  field: FieldDecoder,
  from: Readonly<Record<string, unknown>>,
  to: Record<string, unknown>,
  findings: Findings,
): boolean {
  const value = field.inherited ? getOwn(from, field.name) : from[field.name];
  const found = findings.list.length;
  let decoded: unknown;
  if (value !== undefined && value !== null) {
    decoded = field.decode(value, findings);
    if (findings.list.length > found) prefix(findings, found, field.name);
    if (field.presence === 'implicit' && field.isZero(decoded)) return true;
  } else if (field.nullable && value === null) decoded = null;
  else if (field.presence === 'always') decoded = field.absent(findings);
  else return value === null;
  if (field.inherited) setOwn(to, field.name, decoded);
  else to[field.name] = decoded;
  return value !== undefined;
}

function countKeys(record: Record<string, unknown>): number {
  let count = 0;
  for (const _ in record) count++;
  return count;
}

/** What becomes of fields that a struct does not name. What was found in the struct begins at `from`. */
type TakeOthers = (
  value: Record<string, unknown>,
  decoded: Record<string, unknown>,
  findings: Findings,
  from: number,
) => void;

/** Keeps them or reports them, and brings what was found in the struct in the order of the input. */
function compileOthers({ fields, additional }: StructSchema): TakeOthers {
  const take = compileOther(additional);
  return (value, decoded, findings, from) => {
    const { list } = findings;
    const before = list.length;
    for (const key in value) {
      if (value[key] !== undefined && !Object.hasOwn(fields, key)) take(key, value[key], decoded, findings);
    }
    if (before > from && list.length > from) list.push(...inOrder(list.splice(from), value));
  };
}

type TakeOther = (key: string, value: unknown, decoded: Record<string, unknown>, findings: Findings) => void;

function compileOther(additional: StructSchema['additional']): TakeOther {
  if (additional === undefined)
    return (key, _, __, findings) => findings.add({ type: 'unknown', path: key, step: key });
  if (additional === 'preserve') return (key, value, decoded) => setOwn(decoded, key, value);
  const element = compileElement(additional);
  return (key, value, decoded, findings) => {
    const found = findings.list.length;
    setOwn(decoded, key, element(value, findings));
    if (findings.list.length > found) prefix(findings, found, key);
  };
}

/** Findings in the order in which the fields that they stand in come in the input. */
function inOrder(findings: readonly Finding[], value: Record<string, unknown>): readonly Finding[] {
  const position = new Map(findings.map(({ step }) => [step, 0]));
  let at = 0;
  for (const key in value) if (position.has(key)) position.set(key, at++);
  return findings.toSorted((a, b) => (position.get(a.step) ?? 0) - (position.get(b.step) ?? 0));
}
