import { CelFault } from './fault.ts';

/**
 * A value during evaluation. JavaScript property lookup is never applied to data of variables: objects are read through
 * CelMap, which exposes own properties only.
 */
export type CelValue =
  | boolean
  | string
  | null
  /** int */
  | bigint
  /** double */
  | number
  | Uint8Array
  | CelUint
  | CelList
  | CelMap
  | CelOptional
  | CelDuration
  | CelTimestamp
  | CelTypeValue
  | CelOpaque;

export type CelList = readonly CelValue[];

export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A duration of at most 2^63 nanoseconds, as in kube-apiserver. */
export class CelDuration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A point in time between the years 1 and 9999. */
export class CelTimestamp {
  readonly nanoseconds: bigint;

  constructor(nanosecondsSinceEpoch: bigint) {
    this.nanoseconds = nanosecondsSinceEpoch;
  }
}

/** A type as a value: the result of `type(x)`. */
export class CelTypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of an opaque type: the name of its type, and a text that is equal for equal values. */
export abstract class CelOpaque {
  abstract readonly typeName: string;
  abstract readonly text: string;
}

/** A value, or none. */
export class CelOptional {
  static readonly none = new CelOptional(undefined);
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export const optionalOf = (value: CelValue | undefined): CelOptional =>
  value === undefined ? CelOptional.none : new CelOptional(value);

/**
 * A list whose elements have identities: those of a set, or of a list map. As the left operand it decides how lists are
 * compared and joined: order does not matter, and an element replaces the one with its identity.
 */
export class CelIdentityList extends Array<CelValue> {
  /** Lists derived from it are plain ones. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** Undefined of elements that cannot have an identity here. */
  readonly identityOf: (element: CelValue) => string | undefined;

  constructor(elements: CelList, identityOf: (element: CelValue) => string | undefined) {
    super();
    for (const element of elements) this.push(element);
    this.identityOf = identityOf;
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  /** Undefined if the key does not exist. */
  abstract get(key: CelValue): CelValue | undefined;
  abstract keys(): readonly CelValue[];
  /** Data that expressions cannot see, but that counts when maps are compared. */
  get hidden(): CelValue | undefined {
    return undefined;
  }
}

/** A map whose values are computed when they are read first. */
export abstract class CelLazyMap extends CelMap {
  /** Computes a value, with a pause now and then for whoever iterates; then `get` has it, or throws its fault. */
  abstract prepare(key: string): Generator<void, void>;
}

/** A JSON object. */
class JsonMap extends CelMap {
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #read = new Map<string, CelValue>();
  #keys: readonly string[] | undefined;

  constructor(object: Readonly<Record<string, unknown>>) {
    super();
    this.#object = object;
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined;
    const known = this.#read.get(key);
    if (known !== undefined || !Object.hasOwn(this.#object, key)) return known;
    const data = this.#object[key];
    if (data === undefined) return undefined;
    const value = fromJson(data);
    this.#read.set(key, value);
    return value;
  }

  keys(): readonly string[] {
    this.#keys ??= Object.keys(this.#object).filter((key) => this.#object[key] !== undefined);
    return this.#keys;
  }
}

/** A map created by an expression. */
export class KeyedMap extends CelMap {
  readonly #entries = new Map<string, readonly [CelValue, CelValue]>();

  /** Throws if the key already exists, or has a type that is not allowed for keys. */
  add(key: CelValue, value: CelValue): void {
    const text = keyText(key);
    if (text === undefined) throw new CelFault(`unsupported key type: ${typeNameOf(key)}`);
    if (this.#entries.has(text)) throw new CelFault('a key stands twice in a map');
    this.#entries.set(text, [key, value]);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: CelValue): CelValue | undefined {
    const text = keyText(key);
    return text === undefined ? undefined : this.#entries.get(text)?.[1];
  }

  keys(): readonly CelValue[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }
}

/** The same text for equal keys (numbers of all types can be equal); undefined if the value cannot be a key. */
function keyText(key: CelValue): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof CelUint) return `n${key.value}`;
  if (typeof key === 'number' && Number.isInteger(key)) return `n${BigInt(key)}`;
  return undefined;
}

export const intMin = -(2n ** 63n);
export const intMax = 2n ** 63n - 1n;

/** A JSON value. Whole numbers are ints; those beyond 64 bits are doubles, as in kube-apiserver. */
export function fromJson(data: unknown): CelValue {
  switch (typeof data) {
    case 'string':
    case 'boolean':
      return data;
    case 'number':
      return Number.isSafeInteger(data) ? BigInt(data) : data;
    case 'bigint':
      return data >= intMin && data <= intMax ? data : Number(data);
    case 'object':
      if (data === null) return null;
      if (Array.isArray(data)) return data.map(fromJson);
      return new JsonMap(data as Record<string, unknown>);
    default:
      throw new TypeError(`a variable holds what JSON has not: ${typeof data}`);
  }
}

export const isList = (value: CelValue): value is CelList => Array.isArray(value);

/** The name of a value's type as returned by `type()`. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      return typeNameOfObject(value);
  }
}

function typeNameOfObject(value: Exclude<CelValue, boolean | bigint | number | string>): string {
  if (value === null) return 'null_type';
  if (isList(value)) return 'list';
  if (value instanceof CelMap) return 'map';
  if (value instanceof CelUint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof CelOptional) return 'optional_type';
  if (value instanceof CelDuration) return 'google.protobuf.Duration';
  if (value instanceof CelTimestamp) return 'google.protobuf.Timestamp';
  if (value instanceof CelTypeValue) return 'type';
  return (value as CelOpaque).typeName;
}
