import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type Span, spanning } from '../../../base/span.ts';
import { reasonOf } from './etcd-errors.ts';
import type { UnaryMethod } from './etcd-messages.ts';

/** One gRPC call to one member. */
export interface UnaryCall<Response> {
  /** Rejects with a ServiceError. */
  readonly answer: Promise<Response>;
  cancel(): void;
}

interface CallOptions {
  /** Wall-clock time: it is sent to etcd, which then drops calls that nobody waits for. */
  readonly deadline: number;
  readonly metadata?: Metadata | undefined;
}

export const callMember = <Request, Response>(
  client: Client,
  { path, encode, decode }: UnaryMethod<Request, Response>,
  request: Request,
  { deadline, metadata = new Metadata() }: CallOptions,
): UnaryCall<Response> => {
  // Encoded here, not inside gRPC, so that an encoding failure is the caller's error and not a failed call.
  const message = encode(request);
  const { promise: answer, resolve, reject } = Promise.withResolvers<Response>();
  const call = client.makeUnaryRequest(path, asItIs, decode, message, metadata, { deadline }, (error, response) => {
    // Its own message is shown with those that it is the cause of, and then repeats nothing.
    if (error) reject(Object.assign(error, { message: reasonOf(error) }));
    else if (response === undefined) reject(serviceError(status.UNKNOWN, `no answer to ${path}`));
    else resolve(response);
  });
  return { answer, cancel: () => call.cancel() };
};

const asItIs = (message: Buffer): Buffer => message;

/** An error as gRPC reports it. */
export const serviceError = (code: status, details: string): ServiceError =>
  Object.assign(new Error(details), { code, details, metadata: new Metadata() });

/** Asks a member without a leader to refuse the call at once, instead of keeping it until a timeout. */
export const requireLeader = (): Metadata => {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
};

/** Makes a call in a span of its own, named as published, whose trace goes on in the metadata of the call. */
export function callWithin<T>(span: Span, path: string, send: (metadata: Metadata) => Promise<T>): Promise<T> {
  const name = path.slice(1);
  const [service = '', method = ''] = name.split('/', 2);
  const call = span.child(name, { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method }, 'client');
  const metadata = requireLeader();
  for (const [header, value] of Object.entries(call.headers)) metadata.set(header, value);
  return spanning(call, async () => {
    try {
      return await send(metadata);
    } catch (error) {
      call.fail();
      throw error;
    }
  });
}
