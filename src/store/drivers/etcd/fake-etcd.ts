/** Test support: an etcd that answers what a test tells it to. Imported by tests only. */
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceError, status } from '@grpc/grpc-js';
import { MessageWriter } from './protobuf-wire.ts';

export type FakeWatch = ServerDuplexStream<Buffer, Buffer>;

/** Messages as they go over the wire. An error with a gRPC `code` is answered as that status. */
export interface FakeEtcdHandlers {
  readonly range?: (request: Buffer) => MessageWriter;
  readonly txn?: (request: Buffer) => MessageWriter;
  readonly put?: (request: Buffer) => MessageWriter;
  readonly watch?: (call: FakeWatch) => void;
  readonly version?: string;
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
      txn: answering(handlers.txn ?? unexpected),
      put: answering(handlers.put ?? unexpected),
      status: answering(() => responseAt(1).bytes(2, Buffer.from(handlers.version ?? '3.5.17'))),
      watch: (call: FakeWatch) => {
        // The store cancels its watches; that is no failure of the fake.
        call.on('error', () => {});
        handlers.watch?.(call);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { endpoint: `http://127.0.0.1:${port}`, close: () => server.forceShutdown() };
};

export const grpcError = (code: status, details: string): Error => Object.assign(new Error(details), { code, details });

/** A response of which only the header is set; more fields may be added. */
export const responseAt = (revision: number): MessageWriter =>
  new MessageWriter().message(1, new MessageWriter().int64(3, revision));

interface FakeRecord {
  readonly key: string;
  readonly value?: string;
  readonly createRevision?: number;
  readonly modRevision: number;
}

export const keyValue = ({ key, value = '', createRevision = 0, modRevision }: FakeRecord): MessageWriter =>
  new MessageWriter()
    .bytes(1, Buffer.from(key))
    .int64(2, createRevision)
    .int64(3, modRevision)
    .bytes(5, Buffer.from(value));

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
  (handler: (request: Buffer) => MessageWriter) =>
  (call: { readonly request: Buffer }, respond: (error: ServiceError | null, response?: Buffer) => void): void => {
    try {
      respond(null, handler(call.request).finish());
    } catch (error) {
      respond(error as ServiceError);
    }
  };
