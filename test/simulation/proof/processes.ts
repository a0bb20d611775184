import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientRequest, ClientResponse } from '../../../src/outbound/transport.ts';
import { OrchProcess, type StartOptions } from '../../support/orch-process.ts';
import { LostAnswer, type Member, type Servers } from './client.ts';

/** Objects of the clients only: no config map that a controller makes in each namespace. */
const flagsOfAll = ['--controllers=*,-root-ca-certificate-publisher-controller'];
const unreachedMs = 5;

/** A process that serves, from its start to its end. Requests wait until it is ready. */
class ProcessMember implements Member {
  readonly #server: OrchProcess;
  readonly #ready: Promise<void>;
  readonly #end = new AbortController();
  #agent: https.Agent | undefined;

  constructor(server: OrchProcess, ready: Promise<void>) {
    this.#server = server;
    this.#ready = ready;
  }

  get gone(): AbortSignal {
    return this.#end.signal;
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    await this.#ready;
    while (!this.gone.aborted) {
      try {
        return await this.#answer(request);
      } catch (error) {
        if (request.signal?.aborted || !isLoss(error)) throw error;
        // Without a connection nothing was sent.
        if (error.code !== 'ECONNREFUSED' || this.gone.aborted) throw new LostAnswer(error.message);
        await delay(unreachedMs);
      }
    }
    // Whoever asks again at once lets everything else run in between.
    await delay(unreachedMs);
    throw new LostAnswer('the server has gone');
  }

  /** It is no more. */
  ended(): void {
    this.#end.abort();
    this.#agent?.destroy();
  }

  #answer({ method, target, headers, body, signal }: ClientRequest): Promise<ClientResponse> {
    this.#agent ??= new https.Agent({ keepAlive: true, ...this.#server.credentials });
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const address = { host: '127.0.0.1', port: this.#server.port, agent: this.#agent };
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = https.request(
      {
        ...address,
        method,
        path: target,
        headers: { accept: 'application/json', ...length, ...headers },
        ...(signal && { signal }),
      },
      (response) => resolve({ status: response.statusCode ?? 0, body: wholeBody(response) }),
    );
    request.on('error', reject);
    request.end(body);
    return promise;
  }
}

async function* wholeBody(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    if (!isLoss(error)) throw error;
    throw new LostAnswer(error.message);
  }
  if (!response.complete) throw new LostAnswer('the answer was cut off');
}

const losses = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ETIMEDOUT']);

const isLoss = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && losses.has(String(error.code));

interface StartAttempt {
  /** How long the start is watched. */
  readonly msMax: number;
  /** What a start says that ends by itself. */
  readonly ending: RegExp;
}

/** A start that may fail, and is killed in any case: it is ready, takes too long, or ends and says why. */
export async function attemptStart(server: OrchProcess, { msMax, ending }: StartAttempt): Promise<void> {
  const start = server.restart().then(
    () => undefined,
    (error: Error) => error.message,
  );
  const problem = await Promise.race([start, delay(msMax, undefined)]);
  await server.kill();
  await start;
  if (problem !== undefined) assert.match(problem, ending);
}

interface Replacement {
  /** Starts before the last one are killed after these times. */
  readonly startsMs?: readonly number[];
  /** What happens before the last start. */
  readonly whileDown?: (server: OrchProcess) => Promise<void>;
}

/** Processes that serve one store, and what can happen to them. */
export class Processes implements Servers, AsyncDisposable {
  readonly #servers: OrchProcess[] = [];
  readonly #members: ProcessMember[] = [];

  get members(): readonly Member[] {
    return this.#members;
  }

  async start(flags: readonly string[], options: Omit<StartOptions, 'flags'> = {}): Promise<OrchProcess> {
    const server = await OrchProcess.start({ ...options, flags: [...flagsOfAll, ...flags] });
    this.#servers.push(server);
    this.#members.push(new ProcessMember(server, Promise.resolve()));
    return server;
  }

  /** SIGKILL, and a start. */
  async replace(index: number, { startsMs = [], whileDown }: Replacement = {}): Promise<void> {
    const { server, member } = this.#at(index);
    const started = Promise.withResolvers<void>();
    started.promise.catch(() => {});
    // Answers that were on their way when it was killed count.
    await server.kill();
    this.#members[index] = new ProcessMember(server, started.promise);
    member.ended();
    try {
      for (const msMax of startsMs) await attemptStart(server, { msMax, ending: /^$/ });
      await whileDown?.(server);
      await server.restart();
      started.resolve();
    } catch (error) {
      started.reject(error);
      throw error;
    }
  }

  /** SIGSTOP, and SIGCONT after a time. */
  async pause(index: number, ms: number): Promise<void> {
    const { pid } = this.#at(index).server;
    process.kill(pid, 'SIGSTOP');
    await delay(ms);
    process.kill(pid, 'SIGCONT');
  }

  /** What the servers printed since their last start. */
  get log(): string {
    return this.#servers.map(({ log }) => log).join('\n');
  }

  /** SIGKILL to all; their data stays. */
  async kill(): Promise<void> {
    for (const [index, server] of this.#servers.entries()) {
      await server.kill();
      this.#members[index]?.ended();
    }
  }

  #at(index: number): { readonly server: OrchProcess; readonly member: ProcessMember } {
    const [server, member] = [this.#servers[index], this.#members[index]];
    if (!server || !member) throw new RangeError(`no server ${index}`);
    return { server, member };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
  }
}
