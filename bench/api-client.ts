import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import type { ConnectOptions } from './http2-client.ts';
import { within } from './within.ts';

export interface ApiRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const answerMsMax = 30_000;

/** A client as any other, over Node's own HTTP/2, to set up what is measured and to check it. */
export class ApiClient {
  readonly #access: ConnectOptions;
  #session: ClientHttp2Session | undefined;

  constructor(access: ConnectOptions) {
    this.#access = access;
  }

  /** The connection, opened when it is needed: servers close those that ask for nothing. */
  get #connected(): ClientHttp2Session {
    const { host = '127.0.0.1', port, ca, cert, key } = this.#access;
    if (this.#session && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const authority = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    this.#session = connect(authority, { ca, ...(cert && key && { cert, key }) });
    // Whoever waits for an answer is told by the request.
    this.#session.on('error', () => {});
    return this.#session;
  }

  async send(path: string, { method = 'GET', headers = {}, body }: ApiRequest = {}): Promise<ApiResponse> {
    const stream = this.#connected.request({ ':method': method, ':path': path, ...headers }, { endStream: !body });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    if (body) stream.end(body);
    const ended = once(stream, 'end');
    // A connection that fails fails both.
    ended.catch(() => {});
    const [received] = await within(once(stream, 'response'), answerMsMax, `${method} ${path}`);
    await within(ended, answerMsMax, `${method} ${path}`);
    const answer: IncomingHttpHeaders = received;
    return { status: Number(answer[':status']), headers: answer, body: Buffer.concat(chunks) };
  }

  /** As `send`, and throws where the status is another. */
  async expect(status: number, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
    const response = await this.send(path, request);
    if (response.status === status) return response;
    const text = response.body.toString('utf8', 0, 300);
    throw new Error(`${request.method ?? 'GET'} ${path}: ${response.status} instead of ${status}: ${text}`);
  }

  close(): void {
    this.#session?.destroy();
  }
}
