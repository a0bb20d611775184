/**
 * Test support: a proxy between a store and etcd that understands calls and can lose one in either direction. Imported
 * by tests only.
 */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { status } from '@grpc/grpc-js';

/** What the proxy does with a transaction. */
export type Fate =
  | { readonly type: 'pass' }
  /** It does not reach etcd. */
  | { readonly type: 'loseRequest'; readonly as: Loss }
  /** etcd executes it, but the response is lost. `meanwhile` runs in between. */
  | { readonly type: 'loseAnswer'; readonly as: Loss; readonly meanwhile?: () => Promise<unknown> }
  /** The caller's call fails at once, and the request reaches etcd when `until` has resolved. */
  | { readonly type: 'delay'; readonly as: Loss; readonly until: Promise<unknown> };

/** What the caller sees of a loss. */
export type Loss = 'cut' | 'reset' | 'refused' | 'timeout' | 'outOfSpace';

export const pass: Fate = { type: 'pass' };

export interface EtcdProxy {
  readonly endpoint: string;
  /** Called for each transaction with its bytes, in which keys and values appear verbatim. */
  fate: (transaction: Buffer) => Fate;
  /** Number of transactions received. */
  readonly transactions: number;
  /** Resolves when no call is in flight, delayed ones included. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export const startEtcdProxy = async (endpoint: string): Promise<EtcdProxy> => {
  const server = createServer();
  const proxy = new ProxyServer(server, connect(endpoint));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return proxy;
};

type HeaderBlock = IncomingHttpHeaders & { readonly ':path'?: string | undefined };

interface Answer {
  readonly headers: HeaderBlock;
  readonly body: Buffer;
  readonly trailers: HeaderBlock;
}

class ProxyServer implements EtcdProxy {
  readonly #server: Http2Server;
  readonly #etcd: ClientHttp2Session;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #underWay = new Set<Promise<void>>();
  fate: (transaction: Buffer) => Fate = () => pass;
  transactions = 0;

  constructor(server: Http2Server, etcd: ClientHttp2Session) {
    this.#server = server;
    this.#etcd = etcd;
    // Failures here are visible at the store's end, which is what the tests check.
    etcd.on('error', () => {});
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => {});
      session.on('close', () => this.#sessions.delete(session));
    });
    server.on('stream', (stream: ServerHttp2Stream, headers: HeaderBlock) => {
      stream.on('error', () => {});
      if (headers[':path'] === '/etcdserverpb.Watch/Watch') this.#join(stream, headers);
      else void this.#track(this.#call(stream, headers).catch(() => stream.close()));
    });
  }

  get endpoint(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed');
    return `http://127.0.0.1:${address.port}`;
  }

  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #track(call: Promise<void>): Promise<void> {
    this.#underWay.add(call);
    await call;
    this.#underWay.delete(call);
  }

  async close(): Promise<void> {
    this.#etcd.destroy();
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await once(this.#server, 'close');
  }

  #request(headers: HeaderBlock) {
    const names = [':method', ':path', 'content-type', 'te', 'grpc-timeout', 'hasleader'];
    const sent = this.#etcd.request(
      Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
    );
    sent.on('error', () => {});
    return sent;
  }

  /** A bidirectional stream. */
  #join(stream: ServerHttp2Stream, headers: HeaderBlock): void {
    const sent = this.#request(headers);
    stream.on('close', () => sent.close());
    sent.on('response', (answered) => stream.respond(answered));
    stream.pipe(sent);
    sent.pipe(stream);
  }

  async #call(stream: ServerHttp2Stream, headers: HeaderBlock): Promise<void> {
    const request = await bytesOf(stream);
    const isTransaction = headers[':path'] === '/etcdserverpb.KV/Txn';
    if (isTransaction) this.transactions++;
    const fate = isTransaction ? this.fate(request) : pass;
    switch (fate.type) {
      case 'pass':
        return send(stream, await this.#ask(headers, request));
      case 'loseRequest':
        return lose(stream, fate.as);
      case 'loseAnswer':
        await this.#ask(headers, request);
        await fate.meanwhile?.();
        return lose(stream, fate.as);
      case 'delay':
        lose(stream, fate.as);
        await fate.until;
        await this.#ask(headers, request);
    }
  }

  async #ask(headers: HeaderBlock, request: Buffer): Promise<Answer> {
    const sent = this.#request(headers);
    sent.end(request);
    let answered: HeaderBlock = {};
    let trailers: HeaderBlock = {};
    sent.on('response', (block) => {
      answered = block;
    });
    sent.on('trailers', (block) => {
      trailers = block;
    });
    return { body: await bytesOf(sent), headers: answered, trailers };
  }
}

const bytesOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const send = (stream: ServerHttp2Stream, { headers, body, trailers }: Answer): void => {
  if (stream.destroyed) return;
  const { 'content-type': type = '' } = headers;
  if (headers['grpc-status'] !== undefined) {
    stream.respond({ ':status': 200, 'content-type': type, ...own(headers) }, { endStream: true });
    return;
  }
  stream.respond({ ':status': 200, 'content-type': type }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(own(trailers)));
  stream.end(body);
};

const own = (block: HeaderBlock): Record<string, string> =>
  Object.fromEntries(
    Object.entries(block).flatMap(([name, value]) => (name.startsWith('grpc-') ? [[name, String(value)]] : [])),
  );

const lose = (stream: ServerHttp2Stream, as: Loss): void => {
  switch (as) {
    case 'cut':
      stream.session?.destroy();
      break;
    case 'reset':
      stream.close(constants.NGHTTP2_CANCEL);
      break;
    case 'refused':
      // Tells the client that the request was not processed (RFC 9113 section 8.7).
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      break;
    case 'timeout':
      refuse(stream, status.UNAVAILABLE, 'etcdserver: request timed out');
      break;
    case 'outOfSpace':
      refuse(stream, status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded');
      break;
  }
};

const refuse = (stream: ServerHttp2Stream, code: status, message: string): void => {
  if (stream.destroyed) return;
  const answer = { 'grpc-status': String(code), 'grpc-message': message };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...answer }, { endStream: true });
};
