import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, type ServiceDefinition, status } from '@grpc/grpc-js';
import { WireReader, WireWriter, wireType } from '../../src/base/protobuf-wire.ts';

/**
 * A KMS plugin (version 2 of the published API) in this process, on a socket that goes with it. It inverts bits of what it
 * is given, and reads and writes messages by itself: not with the code under test.
 */
export class KmsPlugin implements AsyncDisposable {
  keyId = 'key-1';
  /** Ids of keys that are lost. */
  readonly lost = new Set<string>();
  /** Methods called so far. */
  readonly calls: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'kms-'));
  #server: Server | undefined;

  get endpoint(): string {
    return `unix://${join(this.#folder, 'plugin.sock')}`;
  }

  async start(): Promise<this> {
    const server = new Server();
    server.addService(service, {
      Status: this.#method('Status', () => message([1, 'v2'], [2, 'ok'], [3, this.keyId])),
      Encrypt: this.#method('Encrypt', (fields) =>
        message([1, inverted(fields.get(1))], [2, this.keyId], [3, message([1, 'kek.kms.example'], [2, 'kek'])]),
      ),
      Decrypt: this.#method('Decrypt', (fields) => {
        if (this.lost.has(String(fields.get(3)))) return undefined;
        return message([1, inverted(fields.get(1))]);
      }),
    });
    await new Promise<void>((resolve, reject) => {
      const bound = (error: Error | null): void => (error ? reject(error) : resolve());
      server.bindAsync(this.endpoint, ServerCredentials.createInsecure(), bound);
    });
    this.#server = server;
    return this;
  }

  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #method(name: string, answer: (fields: Fields) => Buffer | undefined) {
    return (
      { request }: { readonly request: Fields },
      done: (error: { code: number; details: string } | null, response?: Buffer) => void,
    ): void => {
      this.calls.push(name);
      const response = answer(request);
      if (response) done(null, response);
      else done({ code: status.UNKNOWN, details: 'the key is lost' });
    };
  }
}

type Fields = ReadonlyMap<number, Buffer>;

const rpc = (name: string) => ({
  path: `/v2.KeyManagementService/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: fieldsOf,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
});

const service: ServiceDefinition = { Status: rpc('Status'), Encrypt: rpc('Encrypt'), Decrypt: rpc('Decrypt') };

/** The last value of each field; all that are read have a length. */
function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, Buffer>();
  const reader = new WireReader(bytes);
  while (reader.next()) {
    if (reader.type === wireType.delimited) fields.set(reader.field, reader.bytes());
    else reader.skip();
  }
  return fields;
}

function message(...fields: readonly (readonly [number: number, value: Uint8Array | string])[]): Buffer {
  const writer = new WireWriter();
  for (const [number, value] of [...fields].reverse()) {
    const before = writer.length;
    writer.raw(Buffer.from(value));
    writer.delimit(number, before);
  }
  return writer.finish();
}

const inverted = (bytes: Buffer = Buffer.alloc(0)): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0x5a));
