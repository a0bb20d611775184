import { limits } from '../base/limits.ts';
import { canonicalQuantity } from '../meta/quantity.ts';
import { canonicalTime } from '../meta/time.ts';
import { fieldListsOf } from './field-lists.ts';
import { joinPath } from './field-path.ts';
import { LazyFields } from './lazy-fields.ts';
import { getOwn, isRecord, setOwn } from './own-property.ts';
import {
  type AnySchema,
  type Field,
  type Infer,
  type IntegerSchema,
  isScalar,
  type ListSchema,
  type MapSchema,
  type Schema,
  type StructSchema,
  schemaOf,
  type Variant,
} from './schema.ts';
import { zeroOf } from './zero-value.ts';

/** A value of the wrong type: `<path>: expected <expected>, got <got>`. */
interface TypeMismatch {
  /** `spec.containers[0].name`; map keys are written like fields. '' is the value itself. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

export interface Decoded<T> {
  /** A copy that shares only immutable parts and raw (`any`) values with the input. Do not use it if there are errors. */
  readonly value: T;
  /** Paths of unknown fields, in input order. They are pruned from `value`. */
  readonly unknown: readonly string[];
  readonly errors: readonly TypeMismatch[];
  /** Number of unknown fields and errors beyond `limits.findingsMax`; absent if none. */
  readonly omitted?: number;
}

/**
 * Decodes a parsed JSON value by a schema: checks types, prunes unknown fields, drops zero values of `implicit` fields, and
 * converts times, base64 and quantities to canonical form. Struct fields are in schema order, followed by preserved
 * undeclared ones. Field names are case-sensitive. null means absent unless the schema is nullable; as an element of a list
 * or map it becomes the zero value. Decoding is idempotent. Values that do not have the type of a `structural` schema are
 * kept, and are no errors here: `validate` reports them.
 *
 * Integers that a JavaScript number cannot hold exactly (beyond 2^53, in int64 fields and raw values) are bigints; convert
 * an int64 field with Number() or BigInt() before arithmetic.
 *
 * Does not set defaults, and does not check required fields.
 */
export const decode = <const S extends Schema>(schema: S, value: unknown): Decoded<Infer<S>> =>
  decodeValue(schema, value) as Decoded<Infer<S>>;

/** The same for a schema that is not known statically. */
export function decodeValue(schema: Schema, value: unknown): Decoded<unknown> {
  const findings = new Findings();
  const decoded = decoderOf(schema)(value ?? null, findings);
  const { list, omitted } = findings;
  if (list.length === 0) return { value: decoded, unknown: nothing, errors: nothing };
  return {
    value: decoded,
    unknown: list.filter((finding) => finding.type === 'unknown').map(({ path }) => path),
    errors: list
      .filter((finding) => finding.type === 'mismatch')
      .map(({ path, expected, got }) => ({ path, expected, got })),
    ...(omitted > 0 && { omitted }),
  };
}

const nothing: readonly never[] = [];

/** `path` starts relative to the value; each caller prepends its step. `step` is the last one prepended. */
type Finding = { path: string; step: string } & (
  | { readonly type: 'unknown' }
  | { readonly type: 'mismatch'; readonly expected: string; readonly got: string }
);

/** Beyond the limit findings are only counted, to keep the response bounded. */
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

/** Decodes one value, which is never undefined. */
type Decoder = (value: unknown, findings: Findings) => unknown;

const decoders = new WeakMap<Schema, Decoder>();

function decoderOf(schema: Schema): Decoder {
  // Not cached: large schemas have thousands of them.
  if (schema.structural && isScalar(schema)) return decodeStructuralScalar;
  let decoder = decoders.get(schema);
  if (!decoder) {
    decoder = compile(schema);
    decoders.set(schema, decoder);
  }
  return decoder;
}

function compile(schema: Schema): Decoder {
  if (schema.structural) return compileStructural(schema);
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
      return compileAny(schema);
    case 'map':
      return compileMap(schema);
    case 'list':
      return compileList(schema);
    case 'struct':
      return compileStruct(schema);
  }
}

function compileStructural(schema: Schema): Decoder {
  switch (schema.type) {
    case 'any':
      return compileAny(schema);
    case 'map':
      return onlyIf(isRecord, compileGeneralMap(schema));
    case 'list':
      return onlyIf(Array.isArray, compileList(schema));
    case 'struct':
      return onlyIf(isRecord, compileStruct(schema));
    default:
      return decodeStructuralScalar;
  }
}

const decodeStructuralScalar: Decoder = (value) => (typeof value === 'bigint' ? jsonInteger(value) : value);

const onlyIf =
  (is: (value: unknown) => boolean, decoder: Decoder): Decoder =>
  (value, findings) =>
    is(value) ? decoder(value, findings) : value;

/** As in Go: an integer of JSON is an int64 if that holds it, else a double. */
const jsonInteger = (value: bigint): number | bigint =>
  value < integerRanges.int64.min || value > integerRanges.int64.max ? Number(value) : exactInteger(value);

function compileAny(schema: AnySchema): Decoder {
  if (schema.of === 'object') {
    return (value, findings) => (isRecord(value) ? value : mismatch(findings, 'object', value));
  }
  if (schema.of === 'bare') return decodeBare;
  if (schema.variants) return compileVariants(schema.variants);
  const object = schema.object && decoderOf(schema.object);
  const list = schema.list && decoderOf(schema.list);
  if (!object && !list) return (value) => value;
  return (value, findings) => {
    const decoder = Array.isArray(value) ? list : isRecord(value) ? object : undefined;
    return decoder ? decoder(value, findings) : value;
  };
}

function compileVariants(variants: readonly Variant[]): Decoder {
  // Resolved on first use, because the types may be recursive.
  let resolved: readonly Schema[] | undefined;
  return (value, findings) => {
    resolved ??= variants.map(({ schema }) => (typeof schema === 'function' ? schema() : schema));
    const type = Array.isArray(value) ? 'list' : isRecord(value) ? 'struct' : typeof value;
    const schema = resolved.find((each) => each.type === type);
    return schema
      ? decoderOf(schema)(value, findings)
      : mismatch(findings, resolved.map(jsonTypeOf).join(' or '), value);
  };
}

const jsonTypeOf = ({ type }: Schema): string => (type === 'list' ? 'array' : type === 'struct' ? 'object' : type);

const bareStruct: StructSchema = { type: 'struct', name: '', fields: {}, structType: 'granular' };

const decodeBare: Decoder = (value, findings) => {
  if (isRecord(value)) return decoderOf(bareStruct)(value, findings);
  return Array.isArray(value) ? decodeItems(decodeBare, value, findings) : value;
};

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

/** The value for an error message, truncated. Not for types that may hold secrets. */
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

/** A number if it holds the integer exactly, else a bigint; never -0. */
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
 * RFC 4648 section 4, padded. Line breaks are removed, and unused trailing bits cleared. Errors never show the value: it
 * may be a secret.
 */
const decodeBytes: Decoder = (value, findings) => {
  if (typeof value !== 'string') return mismatch(findings, 'base64 string', value);
  const canonical = Buffer.from(value, 'base64').toString('base64');
  if (canonical === value) return value;
  const joined = value.replaceAll(/[\r\n]/g, '');
  const valid = joined.length % 4 === 0 && base64Chars.test(joined);
  return valid ? canonical : mismatch(findings, 'base64 string', value, 'string that is not base64');
};

/** In JSON a MicroTime has exactly its six digits, unlike a Time, which may have any. */
const sixDigits = /[.,]\d{6}(?:Z|[+-]\d\d:\d\d)$/;

function compileTime(precision: 'second' | 'micro'): Decoder {
  const expected = `RFC 3339 time (e.g. "2006-01-02T15:04:05${precision === 'micro' ? '.000000' : ''}Z")`;
  return (value, findings) => {
    if (typeof value !== 'string') return mismatch(findings, expected, value);
    const written = precision === 'second' || sixDigits.test(value) ? canonicalTime(value, precision) : undefined;
    return written ?? mismatch(findings, expected, value, show(value));
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

/** Decodes an element of a list or map. A time that is none is null. */
function compileElement(schema: Schema): Decoder {
  const decoder = decoderOf(schema);
  if (schema.nullable || schema.structural || schema.type === 'time')
    return (value, findings) => (value === null ? null : decoder(value, findings));
  return (value, findings) => decoder(value ?? zeroOf(schema), findings);
}

function compileMap(schema: MapSchema): Decoder {
  const { values } = schema;
  const general = compileGeneralMap(schema);
  if (values.type !== 'string' || values.nullable) return general;
  // Fast path for the usual case, a valid map of strings.
  return (value, findings) => (isRecord(value) && holdsStrings(value) ? { ...value } : general(value, findings));
}

function holdsStrings(record: Record<string, unknown>): boolean {
  for (const key in record) if (typeof record[key] !== 'string') return false;
  return true;
}

function compileGeneralMap({ values, structural, valueDefault }: MapSchema): Decoder {
  const element = compileElement(values);
  const keepsNull = !structural || isNullKept(values) || valueDefault !== undefined;
  return (value, findings) => {
    if (!isRecord(value)) return mismatch(findings, 'object', value);
    const decoded: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      if (value[key] === undefined || (value[key] === null && !keepsNull)) continue;
      const found = findings.list.length;
      setOwn(decoded, key, element(value[key], findings));
      if (findings.list.length > found) prefix(findings, found, key);
    }
    return decoded;
  };
}

/** In a structural schema, null is a value where it is allowed, and where nothing is said of values. */
const isNullKept = (schema: Schema): boolean =>
  schema.nullable === true || (schema.type === 'any' && schema.of === 'bare');

function compileList({ items }: ListSchema): Decoder {
  const element = compileElement(items);
  return (value, findings) =>
    Array.isArray(value) ? decodeItems(element, value, findings) : mismatch(findings, 'array', value);
}

function decodeItems(element: Decoder, value: readonly unknown[], findings: Findings): unknown {
  const decoded: unknown[] = [];
  for (let i = 0; i < value.length; i++) {
    const found = findings.list.length;
    decoded.push(element(value[i], findings));
    if (findings.list.length > found) prefix(findings, found, `[${i}]`);
  }
  return decoded;
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
  /** `Object.prototype` has a property of this name, such as `constructor`. */
  readonly inherited: boolean;
  readonly presence: Field['presence'];
  readonly nullable: boolean;
  readonly isZero: (decoded: unknown) => boolean;
  /** The value of an absent field; undefined unless its presence is `always`. */
  readonly absent: ((findings: Findings) => unknown) | undefined;
}

/** Fields of a struct beyond which only those that a value has are compiled. */
const wideStructMin = 64;

function compileStruct(struct: StructSchema): Decoder {
  if (struct.structural && hasMoreFields(struct, wideStructMin)) return compileWideStruct(struct);
  // Compiled on first use, because structs may be recursive.
  let fields: readonly FieldDecoder[] | undefined;
  const decodeOthers = compileOtherFields(struct);
  return (value, findings) => {
    if (!isRecord(value)) return mismatch(findings, 'object', value);
    fields ??= Object.entries(struct.fields).map(([name, field]) => compileField(name, field));
    const decoded: Record<string, unknown> = {};
    const found = findings.list.length;
    let known = 0;
    for (const field of fields) if (decodeField(field, value, decoded, findings)) known++;
    if (known !== countKeys(value)) decodeOthers(value, decoded, findings, found);
    return decoded;
  };
}

function hasMoreFields({ fields }: StructSchema, count: number): boolean {
  let left = count;
  for (const _ in fields) if (left-- === 0) return true;
  return false;
}

/** Fields of structural schemas are absent unless they are sent, but for the metadata of the object itself. */
function compileWideStruct(struct: StructSchema): Decoder {
  const decodeOthers = compileOtherFields(struct);
  const decoders = new LazyFields(struct.fields, (field, name) => compileField(name, field));
  const { names, always } = fieldListsOf(struct);
  return (value, findings) => {
    if (!isRecord(value)) return mismatch(findings, 'object', value);
    const decoded: Record<string, unknown> = {};
    const found = findings.list.length;
    let known = 0;
    for (const name of names) {
      if (!Object.hasOwn(value, name) && !always.has(name)) continue;
      const decoder = decoders.get(name);
      if (decoder && decodeField(decoder, value, decoded, findings)) known++;
    }
    if (known !== countKeys(value)) decodeOthers(value, decoded, findings, found);
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
    absent: field.presence === 'always' ? absentValueOf(schema, decode) : undefined,
  };
}

const absentValueOf = (schema: Schema, decoder: Decoder): FieldDecoder['absent'] =>
  schema.type === 'struct' ? (findings) => decoder({}, findings) : () => zeroOf(schema);

/** The test for zero values, which `implicit` fields drop. Structs, raw values, times and quantities are never dropped. */
function zeroTestOf(schema: Schema): (decoded: unknown) => boolean {
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return isEmptyText;
    case 'integer':
    case 'number':
      return isZero;
    case 'boolean':
      return isFalse;
    case 'list':
      return isEmptyList;
    case 'map':
      return isEmptyMap;
    default:
      return never;
  }
}

const isEmptyText = (decoded: unknown): boolean => decoded === '';
const isZero = (decoded: unknown): boolean => decoded === 0;
const isFalse = (decoded: unknown): boolean => decoded === false;
const isEmptyList = (decoded: unknown): boolean => Array.isArray(decoded) && decoded.length === 0;
const isEmptyMap = (decoded: unknown): boolean => isRecord(decoded) && isEmpty(decoded);
const never = (): boolean => false;

function isEmpty(record: Record<string, unknown>): boolean {
  for (const _ in record) return false;
  return true;
}

/** Decodes one field; true if the input has it. */
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
  else if (field.absent) decoded = field.absent(findings);
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

/** Handles the fields that a struct does not declare. The findings of this struct start at index `from`. */
type OtherFieldsDecoder = (
  value: Record<string, unknown>,
  decoded: Record<string, unknown>,
  findings: Findings,
  from: number,
) => void;

/** Keeps or reports undeclared fields, then sorts the struct's findings into input order. */
function compileOtherFields({ fields, additional }: StructSchema): OtherFieldsDecoder {
  const decodeOther = compileOtherField(additional);
  return (value, decoded, findings, from) => {
    const { list } = findings;
    const before = list.length;
    for (const key in value) {
      if (value[key] !== undefined && !Object.hasOwn(fields, key)) decodeOther(key, value[key], decoded, findings);
    }
    if (before > from && list.length > from) list.push(...inOrder(list.splice(from), value));
  };
}

type OtherFieldDecoder = (key: string, value: unknown, decoded: Record<string, unknown>, findings: Findings) => void;

function compileOtherField(additional: StructSchema['additional']): OtherFieldDecoder {
  if (additional === undefined)
    return (key, _, __, findings) => findings.add({ type: 'unknown', path: key, step: key });
  if (additional === 'preserve') return (key, value, decoded) => setOwn(decoded, key, value);
  const element = compileElement(additional);
  const keepsNull = !additional.structural || isNullKept(additional);
  return (key, value, decoded, findings) => {
    if (value === null && !keepsNull) return;
    const found = findings.list.length;
    setOwn(decoded, key, element(value, findings));
    if (findings.list.length > found) prefix(findings, found, key);
  };
}

/** Sorts findings by the position of their field in the input. */
function inOrder(findings: readonly Finding[], value: Record<string, unknown>): readonly Finding[] {
  const position = new Map(findings.map(({ step }) => [step, 0]));
  let at = 0;
  for (const key in value) if (position.has(key)) position.set(key, at++);
  return findings.toSorted((a, b) => (position.get(a.step) ?? 0) - (position.get(b.step) ?? 0));
}
