import type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';

/** Server for tests that gives scripted responses, one per request. */
export class ScriptedServer implements Transport {
  /** `METHOD target` of every request. */
  readonly requests: string[] = [];
  readonly sent: ClientRequest[] = [];
  readonly #answers: ((request: ClientRequest) => ClientResponse | Promise<ClientResponse>)[] = [];
  #waiting: (() => void) | undefined;

  async send(request: ClientRequest): Promise<ClientResponse> {
    this.requests.push(`${request.method} ${request.target}`);
    this.sent.push(request);
    let answer = this.#answers.shift();
    while (!answer) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting = resolve;
      await Promise.race([promise, aborted(request.signal)]);
      request.signal?.throwIfAborted();
      answer = this.#answers.shift();
    }
    return answer(request);
  }

  #add(answer: (request: ClientRequest) => ClientResponse | Promise<ClientResponse>): void {
    this.#answers.push(answer);
    this.#waiting?.();
  }

  /** Adds a response. */
  answer(status: number, body: unknown): void {
    this.#add(() => ({ status, body: chunks([JSON.stringify(body)]) }));
  }

  /** Adds a response whose body arrives in these chunks. */
  answerRaw(status: number, ...pieces: readonly string[]): void {
    this.#add(() => ({ status, body: chunks(pieces) }));
  }

  /** Makes the next request fail without a response. */
  drop(message = 'connection lost'): void {
    this.#add(() => Promise.reject(new Error(message)));
  }

  /** Adds a watch response, which the test ends. */
  stream(): OpenStream {
    const stream = new OpenStream();
    this.#add(({ signal }) => ({ status: 200, body: stream.body(signal) }));
    return stream;
  }
}

async function* chunks(pieces: readonly string[]): AsyncIterableIterator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

const aborted = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));

/** A response that stays open. */
export class OpenStream {
  #pieces: (Uint8Array | 'end' | Error)[] = [];
  #wake: () => void = () => {};
  /** True once the client has stopped reading. */
  left = false;

  event(type: string, object: unknown): this {
    return this.write(`${JSON.stringify({ type, object })}\n`);
  }

  write(text: string): this {
    return this.#push(Buffer.from(text));
  }

  end(): void {
    this.#push('end');
  }

  break(): void {
    this.#push(new Error('the connection broke'));
  }

  #push(piece: Uint8Array | 'end' | Error): this {
    this.#pieces.push(piece);
    this.#wake();
    return this;
  }

  async *body(signal: AbortSignal | undefined): AsyncIterableIterator<Uint8Array> {
    try {
      for (;;) {
        for (let piece = this.#pieces.shift(); piece; piece = this.#pieces.shift()) {
          if (piece === 'end') return;
          if (piece instanceof Error) throw piece;
          yield piece;
        }
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await Promise.race([promise, aborted(signal)]);
        signal?.throwIfAborted();
      }
    } finally {
      this.left = true;
    }
  }
}
