import type { CelConstructor, CelExtension } from '../cel.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter } from '../meter.ts';
import { define } from '../overload.ts';
import { dynType, opaqueType, stringType } from '../type.ts';
import { CelDuration, CelMap, CelOpaque, CelTimestamp, CelUint, type CelValue, isList } from '../value.ts';
import { durationText, timestampText } from './timestamp-text.ts';

/** What expressions that change objects have in addition (KEP-3962): types to make, and escaping of paths. */

/** A part of an object that is to be applied: `Object.spec{...}`. Its type is named by its path. */
export class CelObject extends CelOpaque {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(typeName: string, fields: ReadonlyMap<string, CelValue>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  get text(): string {
    return JSON.stringify(toData(this), (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
  }
}

/** An operation of a JSON patch: `JSONPatch{op: "add", ...}`. */
export class CelPatchOperation extends CelOpaque {
  readonly typeName = patchName;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(fields: ReadonlyMap<string, CelValue>) {
    super();
    this.fields = fields;
  }

  get text(): string {
    return new CelObject(patchName, this.fields).text;
  }
}

const objectName = 'Object';
const patchName = 'JSONPatch';

export const objectType = opaqueType(objectName);
export const patchType = opaqueType(patchName);

const patchFields = { op: stringType, path: stringType, from: stringType, value: dynType };

const patch: CelConstructor = {
  type: patchType,
  fieldType: (name) => (Object.hasOwn(patchFields, name) ? patchFields[name as keyof typeof patchFields] : undefined),
  construct: (fields) => new CelPatchOperation(fields),
};

/** Objects have whatever fields they are given: what they are applied to says which are right. */
const objectOf = (typeName: string): CelConstructor => ({
  type: opaqueType(typeName),
  fieldType: () => dynType,
  construct: (fields) => new CelObject(typeName, fields),
});

const escapeKey = define(
  'jsonpatch.escapeKey',
  [stringType],
  stringType,
  (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
  (key: string) => Math.ceil(key.length * costPerCharacter),
);

/** Only expressions of mutations have it. */
export const mutations: CelExtension = {
  constructorOf(name) {
    if (name === patchName) return patch;
    return name === objectName || name.startsWith(`${objectName}.`) ? objectOf(name) : undefined;
  },
  functions: (name) => (name === escapeKey.name ? [escapeKey] : undefined),
};

/** The first type in an object whose name is not that of its place; `path` is that of the object. */
export function misnamedPart(
  value: CelValue,
  path: string,
): { readonly found: string; readonly expected: string } | undefined {
  if (value instanceof CelObject) {
    if (value.typeName !== path) return { found: value.typeName, expected: path };
    return firstOf(value.fields, ([field, part]) => misnamedPart(part, `${path}.${field}`));
  }
  if (isList(value)) return firstOf(value, (part) => misnamedPart(part, path));
  if (value instanceof CelMap) return firstOf(value.keys(), (key) => misnamedPart(value.get(key) ?? null, path));
  return undefined;
}

function firstOf<T, R>(parts: Iterable<T>, find: (part: T) => R | undefined): R | undefined {
  for (const part of parts) {
    const found = find(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A value as JSON data. Throws a CelFault for one that JSON has not. */
export function toData(value: CelValue): unknown {
  if (isList(value)) return value.map(toData);
  if (value instanceof CelObject) return recordOf(value.fields);
  if (value instanceof CelMap) return recordOf(value.keys().map((key) => [keyOf(key), value.get(key) ?? null]));
  return scalarData(value);
}

const recordOf = (fields: Iterable<readonly [string, CelValue]>): Record<string, unknown> =>
  Object.fromEntries(Array.from(fields, ([name, part]) => [name, toData(part)]));

function keyOf(key: CelValue): string {
  if (typeof key === 'string') return key;
  throw new CelFault('keys of a map must be strings');
}

function scalarData(value: CelValue): unknown {
  if (typeof value === 'bigint') return wholeNumber(value);
  if (value instanceof CelUint) return wholeNumber(value.value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value === 'object' && value !== null) throw new CelFault('a value that JSON has not');
  return value;
}

/** Numbers that JavaScript cannot hold stay exact. */
const wholeNumber = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);
