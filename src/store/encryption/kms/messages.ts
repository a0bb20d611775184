import { MalformedMessage, WireReader, WireWriter, wireType } from '../../../base/protobuf-wire.ts';

/**
 * The published API of KMS plugins, version 2 (`v2.KeyManagementService`), and what is stored of a value that was
 * encrypted with the help of one. Fields of proto3: those with the default of their type are not written.
 */

export interface KmsMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

export type Annotations = ReadonlyMap<string, Uint8Array>;

export interface KmsStatus {
  readonly version: string;
  /** `ok`, or what is wrong. */
  readonly healthz: string;
  /** The key that encrypts now. */
  readonly keyId: string;
}

interface KmsEncryptRequest {
  readonly plaintext: Uint8Array;
  readonly uid: string;
}

/** What a plugin made of a seed, all of which it needs to undo it. */
export interface KmsEncrypted {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: Annotations;
}

interface KmsDecryptRequest extends KmsEncrypted {
  readonly uid: string;
}

const service = '/v2.KeyManagementService';

export const kmsStatus: KmsMethod<undefined, KmsStatus> = {
  path: `${service}/Status`,
  encode: () => Buffer.alloc(0),
  decode(bytes) {
    let [version, healthz, keyId] = ['', '', ''];
    const reader = new WireReader(bytes);
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          version = textOf(reader);
          break;
        case 2:
          healthz = textOf(reader);
          break;
        case 3:
          keyId = textOf(reader);
          break;
        default:
          reader.skip();
      }
    }
    return { version, healthz, keyId };
  },
};

export const kmsEncrypt: KmsMethod<KmsEncryptRequest, KmsEncrypted> = {
  path: `${service}/Encrypt`,
  encode: ({ plaintext, uid }) =>
    written((writer) => {
      writeText(writer, 2, uid);
      writeBytes(writer, 1, plaintext);
    }),
  decode(bytes) {
    let [ciphertext, keyId]: [Uint8Array, string] = [nothing, ''];
    const annotations = new Map<string, Uint8Array>();
    const reader = new WireReader(bytes);
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          ciphertext = copyOf(reader);
          break;
        case 2:
          keyId = textOf(reader);
          break;
        case 3:
          readAnnotation(reader, annotations);
          break;
        default:
          reader.skip();
      }
    }
    return { ciphertext, keyId, annotations };
  },
};

export const kmsDecrypt: KmsMethod<KmsDecryptRequest, Uint8Array> = {
  path: `${service}/Decrypt`,
  encode: ({ ciphertext, uid, keyId, annotations }) =>
    written((writer) => {
      writeAnnotations(writer, 4, annotations);
      writeText(writer, 3, keyId);
      writeText(writer, 2, uid);
      writeBytes(writer, 1, ciphertext);
    }),
  decode(bytes) {
    let plaintext: Uint8Array = nothing;
    const reader = new WireReader(bytes);
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          plaintext = copyOf(reader);
          break;
        default:
          reader.skip();
      }
    }
    return plaintext;
  },
};

/** The plaintext of a stored seed is a key for AES-GCM, or the seed of one for each value. */
export const seedTypes = { key: 0, seed: 1 } as const;

/** A stored value: ciphertext, and the encrypted seed of its key. */
export interface EncryptedValue extends KmsEncrypted {
  /** Encrypted by a key from the seed. A view. */
  readonly data: Uint8Array;
  readonly seedType: number;
}

export function decodeEncryptedValue(bytes: Uint8Array): EncryptedValue {
  let [data, ciphertext, keyId, seedType]: [Uint8Array, Uint8Array, string, number] = [nothing, nothing, '', 0];
  const annotations = new Map<string, Uint8Array>();
  const reader = new WireReader(bytes);
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        reader.expect(wireType.delimited);
        data = reader.bytes();
        break;
      case 2:
        keyId = textOf(reader);
        break;
      case 3:
        ciphertext = copyOf(reader);
        break;
      case 4:
        readAnnotation(reader, annotations);
        break;
      case 5:
        reader.expect(wireType.varint);
        seedType = reader.int32();
        break;
      default:
        reader.skip();
    }
  }
  return { data, ciphertext, keyId, annotations, seedType };
}

/** The fields that all values of one seed have in common; those of a value come before them. */
export const encodeSeedFields = ({ ciphertext, keyId, annotations, seedType }: Omit<EncryptedValue, 'data'>): Buffer =>
  written((writer) => {
    if (seedType !== 0) {
      writer.uint(seedType);
      writer.tag(5, wireType.varint);
    }
    writeAnnotations(writer, 4, annotations);
    writeBytes(writer, 3, ciphertext);
    writeText(writer, 2, keyId);
  });

/** A stored value, in the order of its fields. */
export const encodeEncryptedValue = (data: Uint8Array, seedFields: Buffer): Buffer =>
  written((writer) => {
    writer.raw(seedFields);
    writeBytes(writer, 1, data);
  });

const nothing = new Uint8Array(0);

function written(write: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
}

function textOf(reader: WireReader): string {
  reader.expect(wireType.delimited);
  return reader.string();
}

function copyOf(reader: WireReader): Uint8Array {
  reader.expect(wireType.delimited);
  return reader.copy();
}

function readAnnotation(reader: WireReader, annotations: Map<string, Uint8Array>): void {
  reader.expect(wireType.delimited);
  if (annotations.size >= annotationsMax) throw new MalformedMessage('there are too many annotations');
  let [key, value]: [string, Uint8Array] = ['', nothing];
  const inner = new WireReader(reader.bytes());
  while (inner.next()) {
    switch (inner.field) {
      case 1:
        key = textOf(inner);
        break;
      case 2:
        value = copyOf(inner);
        break;
      default:
        inner.skip();
    }
  }
  annotations.set(key, value);
}

/** More do not fit into the bytes that annotations may have. */
const annotationsMax = 8_192;

function writeBytes(writer: WireWriter, field: number, value: Uint8Array): void {
  if (value.length === 0) return;
  const before = writer.length;
  writer.raw(value);
  writer.delimit(field, before);
}

function writeText(writer: WireWriter, field: number, value: string): void {
  if (value === '') return;
  const before = writer.length;
  writer.text(value);
  writer.delimit(field, before);
}

function writeAnnotations(writer: WireWriter, field: number, annotations: Annotations): void {
  for (const [key, value] of [...annotations].reverse()) {
    const before = writer.length;
    writeBytes(writer, 2, value);
    writeText(writer, 1, key);
    writer.delimit(field, before);
  }
}
