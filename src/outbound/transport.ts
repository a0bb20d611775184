/** A request to an API server, independent of the transport. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Aborts the request, also while its response is being read. */
  readonly signal?: AbortSignal;
}

export interface ClientResponse {
  readonly status: number;
  /** The body as it arrives. Not reading it applies backpressure; leaving the iteration aborts the request. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends requests over the network or within the process. Rejects if no response arrives. */
export interface Transport {
  send(request: ClientRequest): Promise<ClientResponse>;
}
