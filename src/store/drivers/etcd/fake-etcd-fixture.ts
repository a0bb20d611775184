/** Test support: a fake etcd with scripted responses. Imported by tests only. */
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { WireReader, WireWriter, wireType } from '../../../base/protobuf-wire.ts';

/** A message assembled first field first. */
export class FakeMessage {
  readonly #fields: ((writer: WireWriter) => void)[] = [];

  int64(field: number, value: number | bigint): this {
    return this.#add((writer) => {
      writer.int(value);
      writer.tag(field, wireType.varint);
    });
  }

  bool(field: number, value: boolean): this {
    return this.int64(field, value ? 1 : 0);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#add((writer) => {
      const before = writer.length;
      writer.raw(value);
      writer.delimit(field, before);
    });
  }

  message(field: number, value: FakeMessage): this {
    return this.bytes(field, value.finish());
  }

  finish(): Buffer {
    const writer = new WireWriter();
    for (const write of this.#fields.toReversed()) write(writer);
    return writer.finish();
  }

  #add(write: (writer: WireWriter) => void): this {
    this.#fields.push(write);
    return this;
  }
}

export type FakeWatch = ServerDuplexStream<Buffer, Buffer>;

/** Messages in wire format. An error with a gRPC `code` is sent as that status. */
export interface FakeEtcdHandlers {
  /** `deadline` is what the client allows. */
  readonly range?: (request: Buffer, metadata: Metadata, deadline: Date | number) => FakeMessage;
  readonly txn?: (request: Buffer, metadata: Metadata) => FakeMessage;
  readonly put?: (request: Buffer) => FakeMessage;
  readonly watch?: (call: FakeWatch) => void;
  readonly version?: string;
  /** Called before its status is told. */
  readonly status?: () => void;
  /** `unix:///path`. Default: a port. */
  readonly address?: string;
}

interface FakeEtcd {
  readonly endpoint: string;
  close(): void;
}

export const startFakeEtcd = async (handlers: FakeEtcdHandlers): Promise<FakeEtcd> => {
  const server = new Server();
  const unary = (path: string) => ({ path, requestStream: false, responseStream: false, ...asBytes });
  const stream = (path: string) => ({ path, requestStream: true, responseStream: true, ...asBytes });
  server.addService(
    {
      range: unary('/etcdserverpb.KV/Range'),
      txn: unary('/etcdserverpb.KV/Txn'),
      put: unary('/etcdserverpb.KV/Put'),
      status: unary('/etcdserverpb.Maintenance/Status'),
      watch: stream('/etcdserverpb.Watch/Watch'),
    },
    {
      range: answering(handlers.range ?? (() => responseAt(1))),
      txn: answering((request, metadata) =>
        isProbe(request) ? responseAt(1) : (handlers.txn ?? unexpected)(request, metadata),
      ),
      put: answering(handlers.put ?? unexpected),
      status: answering(() => {
        handlers.status?.();
        return responseAt(1).bytes(2, Buffer.from(handlers.version ?? '3.5.17'));
      }),
      watch: (call: FakeWatch) => {
        // The store cancels its watches; that is not a failure of the fake.
        call.on('error', () => {});
        handlers.watch?.(call);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(handlers.address ?? '127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { endpoint: handlers.address ?? `http://127.0.0.1:${port}`, close: () => server.forceShutdown() };
};

export const grpcError = (code: status, details: string): Error => Object.assign(new Error(details), { code, details });

/** A response with only the header set; more fields may be appended. */
export const responseAt = (revision: number): FakeMessage =>
  new FakeMessage().message(1, new FakeMessage().int64(3, revision));

interface FakeRecord {
  readonly key: string;
  readonly value?: string;
  readonly createRevision?: number;
  readonly modRevision: number;
}

export const keyValue = ({ key, value = '', createRevision = 0, modRevision }: FakeRecord): FakeMessage =>
  new FakeMessage()
    .bytes(1, Buffer.from(key))
    .int64(2, createRevision)
    .int64(3, modRevision)
    .bytes(5, Buffer.from(value));

/** The value of an integer field of a request; 0 if absent. */
export const integerOf = (request: Uint8Array, field: number): number => {
  const reader = new WireReader(request);
  while (reader.next()) {
    if (reader.field === field) return Number(reader.int64());
    reader.skip();
  }
  return 0;
};

/** The value of a bytes or message field of a request; empty if absent. */
export const bytesOf = (request: Uint8Array, field: number): Buffer => {
  const reader = new WireReader(request);
  while (reader.next()) {
    if (reader.field === field) return reader.bytes();
    reader.skip();
  }
  return Buffer.alloc(0);
};

/** The transaction with which a store finds out what the server takes: nothing else compares the marker key. */
const isProbe = (transaction: Uint8Array): boolean => bytesOf(bytesOf(transaction, 1), 3).at(-1) === 0;

const unexpected = (): never => {
  throw grpcError(status.UNIMPLEMENTED, 'the test expects no such call');
};

const asBytes = {
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
};

const answering =
  (handler: (request: Buffer, metadata: Metadata, deadline: Date | number) => FakeMessage) =>
  (
    call: Pick<ServerUnaryCall<Buffer, Buffer>, 'request' | 'metadata' | 'getDeadline'>,
    respond: (error: ServiceError | null, response?: Buffer) => void,
  ): void => {
    try {
      respond(null, handler(call.request, call.metadata, call.getDeadline()).finish());
    } catch (error) {
      respond(error as ServiceError);
    }
  };
