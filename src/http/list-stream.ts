import { createGzip } from 'node:zlib';
import type { ByteSpan } from '../base/collections/byte-span.ts';
import type { TimeSlice } from '../base/time/time-slice.ts';
import type { BodyWriter, Exchange, Headers } from './exchange.ts';
import { type Chunk, gatherAwaited, gatherList, largeChunkBytes, smallChunkBytes } from './gather.ts';
import { gzipLevel } from './gzip.ts';
import { type Answer, gzipHeaders, sendBytes, wantsGzip } from './respond.ts';
import { ResponseWriter } from './response-writer.ts';

/** A collection as JSON text: the text before the first item, the items, and the text after the last. */
export interface ListBody {
  readonly head: string;
  /** Each span holds one item, or several with commas between them. */
  readonly items: Iterable<ByteSpan>;
  readonly tail: string;
}

interface ListOptions extends Omit<Answer, 'body'> {
  /**
   * Takes what a compressor needs that works while the body is sent, until the exchange ends. False: there is too little, and the
   * body is not compressed. Default: there is enough.
   */
  readonly takeCompressor?: () => boolean;
  /** Time slice for producing items that are encoded on demand. */
  readonly slice?: TimeSlice;
}

/**
 * Responds with a list. A short list is sent at once, with its length, and the function returns undefined, unless
 * compressing it takes long. A long list is sent in chunks as fast as the client reads them, so that it takes one
 * chunk of memory whatever its length; the promise then resolves when the last chunk was written, the client
 * disconnected or the exchange was aborted. Rejects with the error that `items` threw; the client then sees a
 * truncated response.
 */
export function sendList(exchange: Exchange, body: ListBody, options: ListOptions): Promise<void> | undefined {
  const framing = { head: body.head, separator: ',', tail: body.tail, chunkBytes: chunkBytesFor(exchange) };
  return sendChunks(exchange, gatherList(framing, body.items, options.slice), options);
}

/**
 * The same for a body that comes in arbitrary pieces: a table, or a list in another format. Promised pieces are
 * awaited when their turn comes.
 */
export function sendPieces(
  exchange: Exchange,
  pieces: Iterable<Uint8Array | string | Promise<Uint8Array>>,
  options: ListOptions,
): Promise<void> | undefined {
  return sendChunks(exchange, gatherAwaited(pieces, options.slice, chunkBytesFor(exchange)), options);
}

/** Many clients that do not read may each hold a chunk. */
const chunkBytesFor = ({ writesLittle }: Exchange): number => (writesLittle ? smallChunkBytes : largeChunkBytes);

type Chunks = Generator<Chunk | Promise<Chunk>, void>;

function sendChunks(exchange: Exchange, chunks: Chunks, options: ListOptions): Promise<void> | undefined {
  const { slice } = options;
  const first = chunks.next();
  // A body that used up a slice, or that has a promised piece, counts as long.
  const only = first.value instanceof Promise ? undefined : first.value;
  const second = first.done || !only || slice?.over ? undefined : chunks.next();
  if (first.done || second?.done) {
    const body = Buffer.from(only?.bytes ?? '');
    only?.sent?.();
    return sendBytes(exchange, { ...options, body }) ?? undefined;
  }
  if (exchange.method === 'HEAD') {
    chunks.return();
    exchange.stream(options.status, streamHeaders(options, compresses(exchange, options))).end();
    return undefined;
  }
  const writer = startStream(exchange, options);
  const begun = second?.value ? [first.value, second.value] : [first.value];
  return streamChunks(exchange, writer, { begun, rest: chunks, slice });
}

function startStream(exchange: Exchange, options: ListOptions): BodyWriter {
  const isCompressed = compresses(exchange, options) && options.takeCompressor?.() !== false;
  const writer = exchange.stream(options.status, streamHeaders(options, isCompressed));
  return isCompressed ? gzipWriter(writer) : writer;
}

const compresses = (exchange: Exchange, { compress }: ListOptions): boolean => compress === true && wantsGzip(exchange);

const streamHeaders = ({ contentType }: ListOptions, isCompressed: boolean): Headers => ({
  'content-type': contentType,
  ...(isCompressed && gzipHeaders),
});

async function streamChunks(
  exchange: Exchange,
  writer: BodyWriter,
  {
    begun,
    rest,
    slice,
  }: {
    readonly begun: readonly (Chunk | Promise<Chunk>)[];
    readonly rest: Chunks;
    readonly slice: TimeSlice | undefined;
  },
): Promise<void> {
  const { signal } = exchange;
  const cutOff = (): void => writer.abort();
  signal.addEventListener('abort', cutOff, { once: true });
  try {
    for (const chunk of begun) {
      const { bytes, sent } = chunk instanceof Promise ? await chunk : chunk;
      writer.write(bytes, sent);
    }
    for (;;) {
      // A chunk is larger than the connection's buffer, so this waits, and other requests are served meanwhile.
      await writer.drained();
      if (slice?.over) await slice.next();
      if (signal.aborted) break;
      const next = rest.next();
      if (next.done) break;
      const { bytes, sent } = next.value instanceof Promise ? await next.value : next.value;
      if (bytes.length > 0) writer.write(bytes, sent);
    }
    if (!signal.aborted) writer.end();
  } catch (error) {
    // An error after an abort is dropped: the producers stop work that is no longer needed.
    const wanted = !signal.aborted;
    writer.abort();
    if (wanted) throw error;
  } finally {
    signal.removeEventListener('abort', cutOff);
    rest.return();
  }
}

/** Compresses off the main thread and writes the output as fast as the target accepts it. */
function gzipWriter(target: BodyWriter): BodyWriter {
  const gzip = createGzip({ level: gzipLevel, chunkSize: 64 * 1024 });
  gzip.on('data', (compressed: Buffer) => {
    if (target.write(compressed)) return;
    gzip.pause();
    target.drained().then(() => gzip.resume());
  });
  gzip.on('end', () => target.end());
  gzip.on('error', () => target.abort());
  const abort = (): void => {
    gzip.destroy();
    target.abort();
  };
  return new ResponseWriter(gzip, { written() {}, ended() {}, abort });
}
