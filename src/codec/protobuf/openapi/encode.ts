import { WireWriter, wireType } from '../../../base/protobuf-wire.ts';
import { isRecord } from '../../../schema/own-property.ts';
import { formatYaml } from '../../yaml.ts';
import { type Descriptors, type Fields, type FieldType, isChoice, type NumberedField, numbers } from './descriptor.ts';
import { openapiV2 } from './v2.ts';
import { openapiV3 } from './v3.ts';

/**
 * Encodes an OpenAPI document as a protobuf message, byte for byte as kube-apiserver does: fields in order of number, map
 * entries in document order. Scalars with the zero value are omitted, except in lists and in values of several possible
 * types.
 */
export function encodeOpenapi(document: unknown, version: 2 | 3): Buffer {
  encoders[version] ??= new Encoder(version === 2 ? openapiV2() : openapiV3());
  const writer = new WireWriter();
  encoders[version].write(writer, 'Document', document);
  return writer.finish();
}

const encoders: { [version in 2 | 3]?: Encoder } = {};

type Json = Readonly<Record<string, unknown>>;

/** Writes a field with its tag, or the content of a message without one. */
type Write = (writer: WireWriter, value: unknown) => void;

interface Scalar {
  readonly type: number;
  readonly is: (value: unknown) => boolean;
  /** The value of an absent field. */
  readonly zero: unknown;
  readonly write: (writer: WireWriter, value: never) => void;
}

const scalars: Readonly<Record<string, Scalar>> = {
  string: {
    type: wireType.delimited,
    is: (value) => typeof value === 'string',
    zero: '',
    write: (writer, value: string) => {
      const before = writer.length;
      writer.text(value);
      writer.uint(writer.length - before);
    },
  },
  bool: {
    type: wireType.varint,
    is: (value) => typeof value === 'boolean',
    zero: false,
    write: (writer, value: boolean) => writer.uint(Number(value)),
  },
  double: {
    type: wireType.fixed64,
    is: (value) => typeof value === 'number' || typeof value === 'bigint',
    zero: 0,
    write: (writer, value: number | bigint) => writer.double(Number(value)),
  },
  int64: {
    type: wireType.varint,
    is: (value) => Number.isSafeInteger(value) || typeof value === 'bigint',
    zero: 0,
    write: (writer, value: number | bigint) => writer.int(value),
  },
};

/** Compiles each message on first use, because messages are mutually recursive. */
class Encoder {
  readonly #descriptors: Descriptors;
  readonly #messages = new Map<string, Write>();

  constructor(descriptors: Descriptors) {
    this.#descriptors = descriptors;
  }

  /** Writes the fields of a message. */
  write(writer: WireWriter, message: string, value: unknown): void {
    let write = this.#messages.get(message);
    if (!write) {
      write = this.#compile(message);
      this.#messages.set(message, write);
    }
    write(writer, value);
  }

  #compile(message: string): Write {
    const descriptor = this.#descriptors[message];
    if (!descriptor) throw new Error(`no message is called ${message}`);
    if (!isChoice(descriptor)) return this.#compileFields(descriptor);
    const fields = new Map<string, Write>();
    return (writer, value) => {
      const chosen = descriptor(value);
      if (!chosen) return;
      const key = chosen.join(' ');
      const write = fields.get(key) ?? this.#field(chosen, true);
      fields.set(key, write);
      write(writer, value);
    };
  }

  /** Last field first, because the writer works backwards. */
  #compileFields({ fields, extensions, others }: Fields): Write {
    const members: [number: number, write: (writer: WireWriter, object: Json) => void][] = [];
    for (const [name, field] of Object.entries(fields)) {
      const write = this.#field(field, false);
      members.push([field[0], (writer, object) => Object.hasOwn(object, name) && write(writer, object[name])]);
    }
    const isExtension = (name: string): boolean => extensions !== undefined && name.startsWith('x-');
    if (extensions !== undefined) members.push([extensions, this.#entries([extensions, 'any'], isExtension)]);
    const isOther = (name: string): boolean => !isExtension(name) && !Object.hasOwn(fields, name);
    if (others) members.push([others[0], this.#entries(others, isOther)]);
    const writes = members.sort(([a], [b]) => b - a).map(([, write]) => write);
    return (writer, value) => {
      if (isRecord(value)) for (const write of writes) write(writer, value);
    };
  }

  /** Writes the properties that `has` selects as a list of messages with a name and a value. */
  #entries([number, type]: NumberedField, has: (name: string) => boolean) {
    const writeName = this.#field([numbers.entryName, 'string'], false);
    const writeValue = this.#field([numbers.entryValue, type], false);
    return (writer: WireWriter, object: Json): void => {
      for (const [name, value] of Object.entries(object).reverse()) {
        if (!has(name)) continue;
        const before = writer.length;
        writeValue(writer, value);
        writeName(writer, name);
        writer.delimit(number, before);
      }
    };
  }

  /** With `explicit`, zero values are written too. */
  #field([number, type]: NumberedField, explicit: boolean): Write {
    if (type.endsWith('[]')) return this.#list([number, type.slice(0, -2)]);
    if (type.endsWith('{}')) return this.#map([number, type.slice(0, -2)]);
    const scalar = scalars[type];
    if (scalar) return writeScalar(number, scalar, explicit);
    const write: Write = type === 'any' ? writeAny : (writer, value) => this.write(writer, type, value);
    return (writer, value) => {
      const before = writer.length;
      write(writer, value);
      writer.delimit(number, before);
    };
  }

  #list(field: NumberedField): Write {
    const write = this.#field(field, true);
    return (writer, value) => {
      for (const element of Array.isArray(value) ? value.toReversed() : [value]) write(writer, element);
    };
  }

  #map([number, type]: readonly [number, FieldType]): Write {
    const write = this.#entries([numbers.mapEntries, type], () => true);
    return (writer, value) => {
      const before = writer.length;
      if (isRecord(value)) write(writer, value);
      writer.delimit(number, before);
    };
  }
}

function writeScalar(number: number, { type, is, zero, write }: Scalar, explicit: boolean): Write {
  return (writer, value) => {
    if (!is(value) || (value === zero && !explicit)) return;
    write(writer, value as never);
    writer.tag(number, type);
  };
}

const writeYaml = writeScalar(numbers.anyYaml, scalars['string'] as Scalar, false);

/** Written as YAML, as kube-apiserver does, although JSON would be valid too. */
const writeAny: Write = (writer, value) => writeYaml(writer, formatYaml(value));
