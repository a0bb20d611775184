import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../src/base/waits-fixture.ts';
import type { ClientRequest, ClientResponse } from '../../../src/outbound/transport.ts';
import type { UserInfo } from '../../../src/request/user-info.ts';
import { OrchProcess, type StartOptions } from '../../support/orch-process.ts';
import { admin } from '../simulated-world.ts';
import { LostAnswer, type Member, type Servers } from './client.ts';

/** Objects of the clients only: no config map that a controller makes in each namespace. */
const flagsOfAll = ['--controllers=*,-root-ca-certificate-publisher-controller'];
const unreachedMs = 5;

/** With several connections: each so-manieth request has one of its own, so that some are opened all the time. */
const newConnectionEvery = 9;

/** A process that serves, from its start to its end. Requests wait until it is ready, and take turns on its connections. */
class ProcessMember implements Member {
  readonly #server: OrchProcess;
  readonly #ready: Promise<void>;
  readonly #connections: number;
  readonly #end = new AbortController();
  #agents: readonly https.Agent[] = [];
  #sent = 0;

  constructor(server: OrchProcess, ready: Promise<void>, connections: number) {
    this.#server = server;
    this.#ready = ready;
    this.#connections = connections;
  }

  get gone(): AbortSignal {
    return this.#end.signal;
  }

  async send(request: ClientRequest, user: UserInfo): Promise<ClientResponse> {
    await this.#ready;
    while (!this.gone.aborted) {
      try {
        return await this.#answer(request, user);
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
    for (const agent of this.#agents) agent.destroy();
  }

  #nextAgent(): https.Agent | false {
    const { credentials } = this.#server;
    const count = this.#connections;
    if (this.#agents.length === 0) {
      this.#agents = Array.from({ length: count }, () => new https.Agent({ keepAlive: true, ...credentials }));
    }
    this.#sent += 1;
    if (count > 1 && this.#sent % newConnectionEvery === 0) return false;
    return this.#agents[this.#sent % count] ?? false;
  }

  #answer({ method, target, headers, body, signal }: ClientRequest, user: UserInfo): Promise<ClientResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const { credentials, port } = this.#server;
    const address = { host: '127.0.0.1', port, ...credentials, agent: this.#nextAgent() };
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const as = user === admin ? {} : { 'impersonate-user': user.username };
    const request = https.request(
      {
        ...address,
        method,
        path: target,
        headers: { accept: 'application/json', ...as, ...length, ...headers },
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

/** So many that with all but certainty each thread has some. */
const connectionsPerThread = 4;
const threadEnder = new URL('./thread-ender.ts', import.meta.url);
const servingLine = /a serving thread serves/g;

/** Processes that serve one store, and what can happen to them. */
export class Processes implements Servers, AsyncDisposable {
  readonly #servers: OrchProcess[] = [];
  readonly #members: ProcessMember[] = [];
  readonly #threads: number;

  /** `threads`: serving threads of each, over which requests are spread. */
  constructor({ threads = 1 }: { readonly threads?: number } = {}) {
    this.#threads = threads;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  async start(flags: readonly string[], options: Omit<StartOptions, 'flags'> = {}): Promise<OrchProcess> {
    const ender = ['env', `NODE_OPTIONS=--import=${threadEnder}`];
    const server = await OrchProcess.start({
      ...(this.#threads > 1 && { within: ender }),
      ...options,
      flags: [...flagsOfAll, `--serving-threads=${this.#threads}`, ...flags],
    });
    this.#servers.push(server);
    this.#members.push(this.#member(server, Promise.resolve()));
    await this.#serving(server, this.#threads);
    return server;
  }

  /** SIGKILL, and a start. */
  async replace(index: number, { startsMs = [], whileDown }: Replacement = {}): Promise<void> {
    const { server, member } = this.#at(index);
    const started = Promise.withResolvers<void>();
    started.promise.catch(() => {});
    // Answers that were on their way when it was killed count.
    await server.kill();
    this.#members[index] = this.#member(server, started.promise);
    member.ended();
    try {
      for (const msMax of startsMs) await attemptStart(server, { msMax, ending: /^$/ });
      await whileDown?.(server);
      await server.restart();
      started.resolve();
      await this.#serving(server, this.#threads);
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

  /** The death of a thread that serves, which is replaced. */
  async endThread(index: number): Promise<void> {
    const { server } = this.#at(index);
    const count = servingCount(server);
    process.kill(server.pid, 'SIGUSR2');
    await this.#serving(server, count + 1);
  }

  #member(server: OrchProcess, ready: Promise<void>): ProcessMember {
    return new ProcessMember(server, ready, this.#threads === 1 ? 1 : this.#threads * connectionsPerThread);
  }

  /** Resolves when so many threads have served since the start. With one there are none. */
  #serving(server: OrchProcess, count: number): Promise<void> {
    if (this.#threads === 1) return Promise.resolve();
    return until(
      () => servingCount(server) >= count,
      () => `not ${count} threads serve:\n${server.log}`,
    );
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

const servingCount = ({ log }: OrchProcess): number => log.match(servingLine)?.length ?? 0;
