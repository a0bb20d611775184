import { jsonText } from '../../base/json-text.ts';
import { CelFault } from '../../cel/fault.ts';
import { duration, parseDuration, parseTimestamp } from '../../cel/library/timestamp-text.ts';
import {
  CelIdentityList,
  CelMap,
  CelUint,
  type CelValue,
  fromJson,
  intMax,
  intMin,
  typeNameOf,
} from '../../cel/value.ts';
import { formatCheckOf } from '../../meta/crd-formats.ts';
import { isRecord } from '../own-property.ts';
import type { ListSchema, Schema, StructSchema } from '../schema.ts';
import { escapedName } from './escaped-name.ts';
import { isBare, type VisibleField, visibleFields } from './visible-schema.ts';

/**
 * Converts data of a schema to a value of the type that `ruleType` gives it. Objects and maps are converted as far as an
 * expression reads them. Throws a CelFault for data of another type, which only ratcheting lets through.
 */
type Convert = (data: unknown) => CelValue;

const converts = new WeakMap<Schema, Convert>();

export function convertOf(schema: Schema): Convert {
  let convert = converts.get(schema);
  if (!convert) {
    const typed = compile(schema);
    convert = (data) => (data === null ? nullOf(schema) : typed(data));
    converts.set(schema, convert);
  }
  return convert;
}

function nullOf({ nullable }: Schema): null {
  if (nullable) return null;
  throw new CelFault('invalid data, got null for schema with nullable=false');
}

function compile(schema: Schema): Convert {
  switch (schema.type) {
    case 'string':
      return texts[schema.constraint?.format ?? ''] ?? text;
    case 'integer':
      return integer;
    case 'number':
      return (data) => (typeof data === 'number' || typeof data === 'bigint' ? Number(data) : wrong('a number'));
    case 'boolean':
      return (data) => (typeof data === 'boolean' ? data : wrong('a bool'));
    case 'intOrString':
      return (data) => (typeof data === 'string' ? data : integer(data));
    case 'list':
      return compileList(schema);
    case 'map': {
      const value = isBare(schema.values) ? undefined : convertOf(schema.values);
      return (data) => (isRecord(data) ? new MapValue(data, value) : wrong('a map'));
    }
    case 'struct':
      return (data) => (isRecord(data) ? new ObjectValue(data, schema) : wrong('an object'));
    default:
      return fromJson;
  }
}

function wrong(expected: string): never {
  throw new CelFault(`invalid data, expected ${expected}`);
}

function integer(data: unknown): bigint {
  const value = Number.isSafeInteger(data) ? BigInt(data as number) : data;
  return typeof value === 'bigint' && value >= intMin && value <= intMax ? value : wrong('an int');
}

const text = (data: unknown): string => (typeof data === 'string' ? data : wrong('a string'));

/** Strings whose format gives them another type. Their format may be wrong: that is an error beside those of rules. */
const texts: Readonly<Record<string, Convert>> = {
  byte: (data) => {
    if (formatCheckOf('byte')?.(text(data)) || data === '') return new Uint8Array(Buffer.from(text(data), 'base64'));
    throw new CelFault('invalid byte formatted string');
  },
  duration: (data) => spanOf(text(data)),
  date: (data) => parseTimestamp(`${text(data)}T00:00:00Z`),
  'date-time': (data) => parseTimestamp(text(data).toUpperCase()),
};

/** A Go duration, or one number with a unit: `3 days`. */
function spanOf(source: string): CelValue {
  const [, count, unit = ''] = /^(\d{1,18})\s*([a-z\u00b5\u03bc]+)$/.exec(source) ?? [];
  const size = units.find(([names]) => names.test(unit))?.[1];
  return count === undefined || size === undefined ? parseDuration(source) : duration(BigInt(count) * size);
}

const second = 1_000_000_000n;
const units: readonly (readonly [names: RegExp, nanoseconds: bigint])[] = [
  [/^nano(second)?s?$/, 1n],
  [/^micro(second)?s?$/, 1_000n],
  [/^milli(second)?s?$/, 1_000_000n],
  [/^sec(ond)?s?$/, second],
  [/^min(ute)?s?$/, 60n * second],
  [/^(hrs?|hours?)$/, 3_600n * second],
  [/^d(ays?)?$/, 86_400n * second],
  [/^w(ks?|eeks?)?$/, 604_800n * second],
];

function compileList({ items, listType, mapKeys = [] }: ListSchema): Convert {
  const convert = convertOf(items);
  const keys = mapKeys.map((key) => escapedName(key) ?? key);
  const identityOf = listType === 'set' ? identityText : (element: CelValue) => keysText(element, keys);
  return (data) => {
    if (!Array.isArray(data)) return wrong('a list');
    const elements = data.map(convert);
    return listType === 'atomic' ? elements : new CelIdentityList(elements, identityOf);
  };
}

/** The same text for equal scalars. Elements that are none are lists or objects, of atomic types. */
function identityText(element: CelValue): string {
  if (typeof element === 'object' && element !== null && !(element instanceof CelUint)) return jsonText(plain(element));
  return `${typeof element === 'string' ? 's' : 'n'}${element instanceof CelUint ? element.value : element}`;
}

function keysText(element: CelValue, keys: readonly string[]): string | undefined {
  if (!(element instanceof CelMap)) return undefined;
  return jsonText(keys.map((key) => identityText(element.get(key) ?? null)));
}

/** Data that is equal for equal values. */
function plain(value: CelValue): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof CelMap) {
    const keys = value.keys().map(String).sort();
    return keys.map((key) => [key, plain(value.get(key) ?? null)]);
  }
  return typeof value === 'object' && value !== null ? [typeNameOf(value), Object.values(value)] : value;
}

/** A map from JSON. Without a conversion, its values are invisible. */
class MapValue extends CelMap {
  readonly #data: Readonly<Record<string, unknown>>;
  readonly #convert: Convert | undefined;
  readonly #read = new Map<string, CelValue>();

  constructor(data: Readonly<Record<string, unknown>>, convert: Convert | undefined) {
    super();
    this.#data = data;
    this.#convert = convert;
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !this.#convert || !Object.hasOwn(this.#data, key)) return undefined;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const value = this.#convert(this.#data[key]);
    this.#read.set(key, value);
    return value;
  }

  keys(): readonly string[] {
    return this.#convert ? Object.keys(this.#data) : [];
  }

  override get hidden(): CelValue | undefined {
    return this.#convert ? undefined : fromJson(this.#data);
  }
}

/** An object from JSON, with its fields by their names in expressions. */
class ObjectValue extends CelMap {
  readonly #data: Readonly<Record<string, unknown>>;
  readonly #fields: ReadonlyMap<string, VisibleField>;
  readonly #read = new Map<string, CelValue>();

  constructor(data: Readonly<Record<string, unknown>>, schema: StructSchema) {
    super();
    this.#data = data;
    this.#fields = visibleFields(schema);
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined;
    const field = this.#fields.get(key);
    if (!field || !Object.hasOwn(this.#data, field.name)) return undefined;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const value = convertOf(field.schema)(this.#data[field.name]);
    this.#read.set(key, value);
    return value;
  }

  keys(): readonly string[] {
    const keys: string[] = [];
    for (const [key, { name }] of this.#fields) if (Object.hasOwn(this.#data, name)) keys.push(key);
    return keys;
  }

  /** Fields without a type, without a name in expressions, or unknown to the schema. */
  override get hidden(): CelValue | undefined {
    const names = new Set(Array.from(this.#fields.values(), ({ name }) => name));
    const rest = Object.entries(this.#data).filter(([name]) => !names.has(name));
    if (rest.length === 0) return undefined;
    return fromJson(Object.fromEntries(rest));
  }
}
