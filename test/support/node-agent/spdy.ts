import type { Duplex } from 'node:stream';
import { constants, createDeflate, createInflate } from 'node:zlib';

/** The server's side of SPDY/3.1, as far as clients of the agents of nodes use it. */

/** What headers are compressed with (SPDY/3 section 2.6.10.1): words with their lengths, then a text. */
const words = [
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow',
  'authorization cache-control connection content-base content-encoding content-language content-length',
  'content-location content-md5 content-range content-type date etag expect expires from host if-match',
  'if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma',
  'proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade',
  'user-agent vary via warning www-authenticate method get status',
].flatMap((line) => line.split(' '));
const text = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized',
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,',
  'text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
].join('');
const sized = (word: string): Buffer => {
  const bytes = Buffer.from(word);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const dictionary = Buffer.concat([
  ...[...words, '200 OK', 'version', 'HTTP/1.1', 'url', 'public', 'set-cookie', 'keep-alive', 'origin'].map(sized),
  Buffer.from(text),
]);

const frame = { synStream: 1, synReply: 2, reset: 3, ping: 6 } as const;
const fin = 1;

type Names = Readonly<Record<string, string>>;

export class SpdyStream {
  readonly headers: Names;
  readonly #id: number;
  readonly #session: SpdySession;
  #received: Buffer[] = [];
  #ended = false;
  #onData: ((chunk: Buffer) => void) | undefined;
  #onEnd: (() => void) | undefined;

  constructor(session: SpdySession, id: number, headers: Names) {
    this.#session = session;
    this.#id = id;
    this.headers = headers;
  }

  /** What came before is delivered at once. */
  read(on: { readonly data: (chunk: Buffer) => void; readonly end: () => void }): void {
    this.#onData = on.data;
    this.#onEnd = on.end;
    for (const chunk of this.#received.splice(0)) on.data(chunk);
    if (this.#ended) on.end();
  }

  write(chunk: Buffer): void {
    this.#session.sendData(this.#id, chunk, 0);
  }

  end(): void {
    this.#session.sendData(this.#id, Buffer.alloc(0), fin);
  }

  received(chunk: Buffer, isLast: boolean): void {
    if (chunk.length > 0) {
      if (this.#onData) this.#onData(chunk);
      else this.#received.push(chunk);
    }
    if (!isLast) return;
    this.#ended = true;
    this.#onEnd?.();
  }
}

export class SpdySession {
  readonly #socket: Duplex;
  readonly #opened: (stream: SpdyStream) => void;
  readonly #inflate = createInflate({ dictionary });
  readonly #deflate = createDeflate({ dictionary });
  readonly #streams = new Map<number, SpdyStream>();
  #input: Buffer;
  /** Frames are handled one after the other, although compression takes turns of its own. */
  #work: Promise<void> = Promise.resolve();

  constructor(socket: Duplex, head: Buffer, opened: (stream: SpdyStream) => void) {
    this.#socket = socket;
    this.#opened = opened;
    this.#input = head;
    socket.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.#read();
    });
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
    this.#read();
  }

  sendData(id: number, chunk: Buffer, flags: number): void {
    // After replies that are still being compressed.
    this.#work = this.#work.then(() => {
      const head = Buffer.alloc(8);
      head.writeUInt32BE(id);
      head.writeUInt32BE(chunk.length, 4);
      head[4] = flags;
      this.#socket.write(Buffer.concat([head, chunk]));
    });
  }

  #read(): void {
    while (this.#input.length >= 8) {
      const length = this.#input.readUInt32BE(4) & 0xffffff;
      if (this.#input.length < 8 + length) return;
      const [head, body] = [this.#input.subarray(0, 8), this.#input.subarray(8, 8 + length)];
      this.#input = this.#input.subarray(8 + length);
      this.#work = this.#work.then(() => this.#handle(head, body));
    }
  }

  async #handle(head: Buffer, body: Buffer): Promise<void> {
    const flags = head[4] ?? 0;
    if (((head[0] ?? 0) & 0x80) === 0) {
      this.#streams.get(head.readUInt32BE())?.received(body, (flags & fin) !== 0);
      return;
    }
    const type = head.readUInt16BE(2);
    if (type === frame.ping) this.#send(type, body);
    if (type !== frame.synStream) return;
    const id = body.readUInt32BE();
    const stream = new SpdyStream(this, id, readNames(await through(this.#inflate, body.subarray(10))));
    this.#streams.set(id, stream);
    const reply = Buffer.alloc(4);
    reply.writeUInt32BE(id);
    this.#send(frame.synReply, Buffer.concat([reply, await through(this.#deflate, Buffer.alloc(4))]));
    if ((flags & fin) !== 0) stream.received(Buffer.alloc(0), true);
    this.#opened(stream);
  }

  #send(type: number, body: Buffer): void {
    const head = Buffer.alloc(8);
    head.writeUInt16BE(0x8003);
    head.writeUInt16BE(type, 2);
    head.writeUInt32BE(body.length, 4);
    this.#socket.write(Buffer.concat([head, body]));
  }
}

/** One block through a compressor that goes on with the next. */
function through(
  codec: ReturnType<typeof createInflate> | ReturnType<typeof createDeflate>,
  block: Buffer,
): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer): void => void chunks.push(chunk);
  codec.on('data', take);
  codec.write(block);
  codec.flush(constants.Z_SYNC_FLUSH, () => {
    codec.off('data', take);
    resolve(Buffer.concat(chunks));
  });
  return promise;
}

function readNames(block: Buffer): Names {
  let at = 0;
  const number = (): number => {
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const word = (): string => {
    const length = number();
    at += length;
    return block.subarray(at - length, at).toString();
  };
  return Object.fromEntries(Array.from({ length: number() }, () => [word(), word()]));
}
