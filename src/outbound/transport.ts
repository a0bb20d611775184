/** A request of a client, to be carried to a server. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Ends the request, also while its response is being read. */
  readonly signal?: AbortSignal;
}

export interface ClientResponse {
  readonly status: number;
  /** The body as it comes. Not reading it holds the server back; leaving the iteration ends the request. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Carries requests: over the network, or inside the process. Rejects when no response came. */
export interface Transport {
  send(request: ClientRequest): Promise<ClientResponse>;
}
