import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, sensitiveHeaders } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { limits } from '../../base/limits.ts';
import type { OutgoingRequest, OutgoingResponse } from '../network.ts';
import { StreamFailure } from './stream-failure.ts';

const { NGHTTP2_CANCEL, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

/**
 * One HTTP/2 connection (RFC 9113). It takes no more requests once the server goes away, while it is silent for longer than a
 * request was waited for and does not answer a ping, and after it was idle.
 */
export class Http2Session {
  readonly #session: ClientHttp2Session;
  #streams = 0;
  #answered = 0;
  /** A ping is to show that the server is still there. */
  #isDoubtful = false;

  /** `ended` is called once, when no request is left. */
  constructor(socket: TLSSocket, origin: string, ended: () => void) {
    socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, limits.keepAliveProbeMs);
    this.#session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false },
      maxSessionMemory: limits.http2SessionMegabytesMax,
    });
    // The streams tell of it.
    this.#session.on('error', () => {});
    this.#session.on('close', ended);
    this.#session.setTimeout(limits.http2IdleMs, () => this.#silent());
  }

  get takesRequests(): boolean {
    return !this.#session.closed && !this.#session.destroyed && !this.#isDoubtful;
  }

  /** Rejects with a StreamFailure. */
  async send(request: OutgoingRequest): Promise<OutgoingResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<OutgoingResponse>();
    const isFirst = this.#answered === 0;
    const stream = this.#start(request);
    const fail = (error: Error): void => {
      if (request.signal?.aborted) this.#doubt();
      reject(new StreamFailure(this.#typeOf(stream, isFirst), error));
    };
    stream.on('response', ({ ':status': status = 0, ...headers }) => {
      this.#answered++;
      resolve({
        status,
        headers,
        body: wholeBody(stream, headers['content-length']),
        discard: () => stream.close(NGHTTP2_CANCEL),
      });
    });
    // Stays: who reads the body hears of an error in another way, and who does not read it need not.
    stream.on('error', fail);
    stream.on('close', () => {
      this.#streams--;
      fail(new Error('the server ended the request without a response'));
    });
    stream.end(request.body);
    return promise;
  }

  #start({ method, target, headers, signal, silenceMsMax }: OutgoingRequest): ClientHttp2Stream {
    try {
      const head = { ...headers, ':method': method, ':path': target, [sensitiveHeaders]: ['authorization'] };
      const stream = this.#session.request(head, { endStream: false, ...(signal && { signal }) });
      this.#streams++;
      if (silenceMsMax !== undefined) {
        stream.setTimeout(silenceMsMax, () =>
          stream.destroy(new Error(`the server was silent for ${silenceMsMax} ms`)),
        );
      }
      return stream;
    } catch (error) {
      // It has ended, or has no number for a stream any more.
      this.retire();
      throw new StreamFailure('unprocessed', error as Error);
    }
  }

  #typeOf({ rstCode }: ClientHttp2Stream, isFirst: boolean): StreamFailure['type'] {
    if (rstCode === NGHTTP2_REFUSED_STREAM) return 'unprocessed';
    if (rstCode === NGHTTP2_HTTP_1_1_REQUIRED) return 'http1';
    return !isFirst && (this.#session.destroyed || this.#session.closed) ? 'lost' : 'failed';
  }

  /** Nobody else is to wait for a server that may be gone: a request was given up that it did not answer. */
  #doubt(): void {
    if (this.#isDoubtful || this.#session.destroyed) return;
    this.#isDoubtful = true;
    this.#session.setTimeout(limits.http2PongMsMax);
    this.#session.ping((error) => {
      if (error) return;
      this.#isDoubtful = false;
      this.#session.setTimeout(limits.http2IdleMs);
    });
  }

  #silent(): void {
    if (this.#isDoubtful) this.#session.destroy(new Error('the server does not answer'));
    else if (this.#streams > 0) this.#doubt();
    else this.retire();
  }

  /** Requests in progress continue. */
  retire(): void {
    this.#session.close();
  }

  /** Aborts requests in progress. */
  close(): void {
    this.#session.destroy();
  }
}

/**
 * The runtime takes a body that was cut off for a whole one, unless the code of RST_STREAM is an error. A server that resets
 * without one in place of the end (RFC 9113 section 8.1), and gives no length, is believed.
 */
async function* wholeBody(stream: ClientHttp2Stream, lengthHeader: string | undefined): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    yield chunk;
  }
  if (isNoError(stream.rstCode) && (lengthHeader === undefined || Number(lengthHeader) === length)) return;
  throw Object.assign(new Error('the server ended the response before its end'), { code: 'ECONNRESET' });
}

/** Undefined: both sides may go on, as far as the stream is concerned. */
const isNoError = (code: number | undefined): boolean => code === undefined || code === NGHTTP2_NO_ERROR;
