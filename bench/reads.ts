import type { ApiResponse } from './api-client.ts';
import { type Canned, type Ceiling, cannedFrom } from './ceiling.ts';
import { http1Request } from './http1-client.ts';
import { PreparedRequest } from './http2-client.ts';
import { type LoadOptions, type LoadResult, runLoad } from './load.ts';
import type { Product } from './product.ts';
import type { Sample } from './rounds.ts';

/** A read that both sides answer with the same bytes. */
export interface Read {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** See `RequestOptions`. */
  readonly repeated?: Readonly<Record<string, string>>;
}

/** How long, and how much at most. */
type ReadBounds = Pick<LoadOptions, 'durationMs' | 'requestsMax'>;

/** Connections to one side that stay open from round to round, and a way to read over them. */
export interface Reader extends Disposable {
  read(bounds: ReadBounds): Promise<LoadResult>;
}

const acceptJson = { accept: 'application/json' };

/** Asks the product once, and teaches the ceiling its answer. */
export async function learn(product: Product, ceiling: Ceiling, { path, headers }: Read): Promise<ApiResponse> {
  const response = await product.api.expect(200, path, { headers: { ...acceptJson, ...headers } });
  const canned: Canned = cannedFrom(response);
  await ceiling.answer(path, canned);
  return response;
}

/** `streams` requests at once on each of few connections of HTTP/2. */
export async function http2Reader(
  side: Pick<Ceiling, 'http2'>,
  { path, headers, repeated = {} }: Read,
  { body }: Pick<ApiResponse, 'body'>,
  { connections, streams }: { readonly connections: number; readonly streams: number },
): Promise<Reader> {
  const clients = await side.http2(connections);
  const request = new PreparedRequest({ method: 'GET', path, headers: { ...acceptJson, ...headers }, repeated });
  return {
    read: (bounds) =>
      runLoad({
        ...bounds,
        slots: connections * streams,
        expected: { status: 200, body },
        send: (slot, _turn, listener) => clients[slot % connections]?.send(request, listener),
      }),
    [Symbol.dispose]() {
      for (const client of clients) client.close();
    },
  };
}

/** One request at a time on each of many kept-alive connections of HTTP/1.1. */
export async function http1Reader(
  side: Product | Ceiling,
  { path }: Read,
  { body }: Pick<ApiResponse, 'body'>,
  { connections }: { readonly connections: number },
): Promise<Reader> {
  const clients = await side.http1(connections);
  const request = http1Request(path);
  return {
    read: (bounds) =>
      runLoad({
        ...bounds,
        slots: connections,
        expected: { status: 200, body },
        send: (slot, _turn, listener) => clients[slot]?.send(request, listener),
      }),
    [Symbol.dispose]() {
      for (const client of clients) client.close();
    },
  };
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
