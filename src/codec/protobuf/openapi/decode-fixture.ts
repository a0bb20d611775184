import { WireReader } from '../../../base/protobuf-wire.ts';
import { isRecord } from '../../../schema/own-property.ts';
import { parseYaml } from '../../yaml.ts';
import { type Descriptors, type Fields, type FieldType, isChoice, numbers } from './descriptor.ts';
import { openapiV2 } from './v2.ts';
import { openapiV3 } from './v3.ts';

/** `oneof` messages: the type of each field, by number. */
const shapes: Readonly<Record<string, Readonly<Record<number, FieldType>>>> = {
  ParametersItem: { 1: 'Parameter', 2: 'JsonReference' },
  Parameter: { 1: 'BodyParameter', 2: 'NonBodyParameter' },
  NonBodyParameter: { 1: 'PlainParameter', 2: 'EmptiableParameter', 3: 'EmptiableParameter', 4: 'PlainParameter' },
  ResponseValue: { 1: 'Response', 2: 'JsonReference' },
  SchemaItem: { 1: 'Schema' },
  SecurityDefinitionsItem: { 1: 'BasicAuthenticationSecurity', 2: 'ApiKeySecurity' },
  TypeItem: { 1: 'string' },
  ParameterOrReference: { 1: 'Parameter', 2: 'Reference' },
  RequestBodyOrReference: { 1: 'RequestBody', 2: 'Reference' },
  ResponseOrReference: { 1: 'Response', 2: 'Reference' },
  HeaderOrReference: { 1: 'Header', 2: 'Reference' },
  SchemaOrReference: { 1: 'Schema', 2: 'Reference' },
  SecuritySchemeOrReference: { 1: 'SecurityScheme', 2: 'Reference' },
  DefaultType: { 1: 'double', 2: 'bool', 3: 'string' },
};

/** `oneof` messages that have the same name and a different meaning in each version. */
const shapesOf = {
  2: { ...shapes, AdditionalPropertiesItem: { 1: 'Schema', 2: 'bool' }, ItemsItem: { 1: 'Schema' } },
  3: {
    ...shapes,
    Parameter: undefined,
    AdditionalPropertiesItem: { 1: 'SchemaOrReference', 2: 'bool' },
    ItemsItem: { 1: 'SchemaOrReference' },
  },
} as const;

type Json = Record<string, unknown>;

/** Decodes an OpenAPI document in protobuf to JSON, for tests; `met` collects each field. Throws on unknown fields. */
export const decodeOpenapi = (bytes: Buffer, version: 2 | 3, met = new Set<string>()): unknown =>
  new Decoder(version, met).message('Document', new WireReader(bytes));

class Decoder {
  readonly #descriptors: Descriptors;
  readonly #shapes: Readonly<Record<string, Readonly<Record<number, FieldType>> | undefined>>;

  readonly #met: Set<string>;

  constructor(version: 2 | 3, met: Set<string>) {
    this.#met = met;
    this.#descriptors = version === 2 ? openapiV2() : openapiV3();
    this.#shapes = shapesOf[version];
  }

  message(name: string, reader: WireReader): unknown {
    if (name === 'StringArray') return this.#strings(reader);
    const descriptor = this.#descriptors[name];
    if (!descriptor) throw new Error(`no message ${name}`);
    if (!isChoice(descriptor)) return this.#fields(name, descriptor, reader);
    let value: unknown = {};
    while (reader.next()) {
      const type = this.#shapes[name]?.[reader.field];
      if (type === undefined) throw new Error(`${name} has no field ${reader.field}`);
      value = this.#value(type, reader);
    }
    return value;
  }

  #strings(reader: WireReader): readonly string[] {
    const strings: string[] = [];
    while (reader.next()) strings.push(reader.string());
    return strings;
  }

  #fields(name: string, { fields, extensions, others }: Fields, reader: WireReader): Json {
    const result: Json = {};
    while (reader.next()) {
      const { field } = reader;
      this.#met.add(`${name} ${field}`);
      const known = Object.entries(fields).find(([, [number]]) => number === field);
      if (known) this.#put(result, known[0], known[1][1], reader);
      else if (field === extensions) this.#entry(result, 'any', reader);
      else if (field === others?.[0]) this.#entry(result, others[1], reader);
      else throw new Error(`${name} has no field ${field}`);
    }
    return result;
  }

  #put(result: Json, name: string, type: FieldType, reader: WireReader): void {
    if (type.endsWith('[]')) {
      result[name] = [...((result[name] as unknown[]) ?? []), this.#value(type.slice(0, -2), reader)];
      return;
    }
    const [before, value] = [result[name], this.#value(type, reader)];
    // A message that comes several times is merged.
    result[name] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
  }

  #entry(result: Json, type: FieldType, reader: WireReader): void {
    const [outer, entry] = [reader.enter(), {} as { name?: string; value?: unknown }];
    while (reader.next()) {
      if (reader.field === numbers.entryName) entry.name = reader.string();
      else entry.value = this.#value(type, reader);
    }
    reader.leave(outer);
    Object.defineProperty(result, entry.name ?? '', { value: entry.value, enumerable: true, configurable: true });
  }

  #value(type: FieldType, reader: WireReader): unknown {
    switch (type) {
      case 'string':
        return reader.string();
      case 'bool':
        return reader.bool();
      case 'double':
        return reader.double();
      case 'int64':
        return reader.int64();
      default:
        return this.#delimited(type, reader);
    }
  }

  #delimited(type: FieldType, reader: WireReader): unknown {
    const outer = reader.enter();
    const value = this.#inner(type, reader);
    reader.leave(outer);
    return value;
  }

  #inner(type: FieldType, reader: WireReader): unknown {
    if (type === 'any') {
      let value: unknown;
      while (reader.next()) value = parseYaml(reader.bytes()).value;
      return value;
    }
    if (!type.endsWith('{}')) return this.message(type, reader);
    const result: Json = {};
    while (reader.next()) this.#entry(result, type.slice(0, -2), reader);
    return result;
  }
}
