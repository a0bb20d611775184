import type { Closable } from '../../../base/disposable.ts';
import type { KmsMethod } from './messages.ts';

/** The connection to a KMS plugin. */
export interface KmsConnection extends Closable {
  /** Rejects with a KmsCallError. Waits for a plugin that is not there yet, as long as the call may take. */
  call<Request, Response>(method: KmsMethod<Request, Response>, request: Request): Promise<Response>;
}

/** How to reach a plugin. */
export interface KmsEndpoint {
  /** Path of the socket; an abstract name begins with `@`. */
  readonly socket: string;
  /** Of each call. Milliseconds. */
  readonly timeoutMs: number;
}

/** A call that failed: the name of its gRPC status, and what the plugin said. */
export class KmsCallError extends Error {
  readonly status: string;

  constructor(name: string, details: string) {
    super(`rpc error: code = ${name} desc = ${details.slice(0, detailsMax)}`);
    this.name = 'KmsCallError';
    this.status = name;
  }
}

/** Characters shown of what a plugin says. */
const detailsMax = 1_024;
