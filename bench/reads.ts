import type { ApiResponse } from './api-client.ts';
import { type Canned, type Ceiling, cannedFrom } from './ceiling.ts';
import { http1Request } from './http1-client.ts';
import { PreparedRequest } from './http2-client.ts';
import { type LoadResult, runLoad } from './load.ts';
import type { Product } from './product.ts';
import type { Sample } from './rounds.ts';

/** A read that both sides answer with the same bytes. */
export interface Read {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ReadLoad {
  readonly connections: number;
  /** Streams at once on each connection; 1 with HTTP/1.1. */
  readonly streams: number;
  readonly durationMs: number;
  readonly requestsMax?: number;
}

const acceptJson = { accept: 'application/json' };

/** Asks the product once, and teaches the ceiling its answer. */
export async function learn(product: Product, ceiling: Ceiling, { path, headers }: Read): Promise<ApiResponse> {
  const response = await product.api.expect(200, path, { headers: { ...acceptJson, ...headers } });
  const canned: Canned = cannedFrom(response);
  await ceiling.answer(path, canned);
  return response;
}

/** Many streams on few connections of HTTP/2. */
export async function readOverHttp2(
  side: Product | Ceiling,
  { path, headers }: Read,
  { body }: Pick<ApiResponse, 'body'>,
  { connections, streams, ...bounds }: ReadLoad,
): Promise<LoadResult> {
  const clients = await side.http2(connections);
  const request = new PreparedRequest({ method: 'GET', path, headers: { ...acceptJson, ...headers } });
  try {
    return await runLoad({
      ...bounds,
      slots: connections * streams,
      expected: { status: 200, body },
      send: (slot, _turn, listener) => clients[slot % connections]?.send(request, listener),
    });
  } finally {
    for (const client of clients) client.close();
  }
}

/** One request at a time on each of many kept-alive connections of HTTP/1.1. */
export async function readOverHttp1(
  side: Product | Ceiling,
  { path }: Read,
  { body }: Pick<ApiResponse, 'body'>,
  { connections, ...bounds }: ReadLoad,
): Promise<LoadResult> {
  const clients = await side.http1(connections);
  const request = http1Request(path);
  try {
    return await runLoad({
      ...bounds,
      slots: connections,
      expected: { status: 200, body },
      send: (slot, _turn, listener) => clients[slot]?.send(request, listener),
    });
  } finally {
    for (const client of clients) client.close();
  }
}

/** Runs a load and looks at the CPU that the side used meanwhile. */
export async function sampled(
  side: Product | Ceiling,
  load: () => Promise<LoadResult>,
  seen: (result: LoadResult) => void = () => {},
): Promise<Sample & LoadResult> {
  const before = side.cpuSeconds();
  const result = await load();
  seen(result);
  const cpuMicros = ((side.cpuSeconds() - before) / result.requests) * 1e6;
  return { ...result, rate: result.requests / result.seconds, cpuMicros };
}
