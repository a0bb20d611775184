import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { freePort } from '../src/base/free-port-fixture.ts';
import { limits } from '../src/base/limits.ts';
import { ApiClient } from './api-client.ts';
import { Http1Client } from './http1-client.ts';
import { type ConnectOptions, Http2Client } from './http2-client.ts';
import { Inspector, inspectorOptions } from './inspector.ts';
import { readKubeconfig } from './kubeconfig.ts';
import type { ApiSide } from './peer.ts';
import { cpuSeconds, residentBytes } from './process-stats.ts';
import { TurnProbe } from './turn-probe.ts';
import { within } from './within.ts';
import type { Workspace } from './workspace.ts';

interface ProductOptions {
  readonly workspace: Workspace;
  /** Path of `bin/orch`. */
  readonly launcher: string;
  /** Made where it is absent. */
  readonly dataDirectory: string;
  /** More for `orch up`. */
  readonly flags?: readonly string[];
  /** More for NODE_OPTIONS, such as `--cpu-prof`. */
  readonly nodeOptions?: string;
}

const startMsMax = 30_000;
const settledMsMax = 60_000;
/** How long a product rests that is said to have settled, and of how much of a core it may still make use. */
const restMs = 500;
const restShare = 0.1;
/** Between two looks whether the server is there: short beside what is measured, and cheap while nobody listens. */
const pollMs = 2;

interface CountedList {
  readonly items: readonly unknown[];
  readonly metadata: { readonly resourceVersion: string };
}

/** A running `orch up`. */
export class Product implements ApiSide, AsyncDisposable {
  /** Its certificate says who asks. */
  readonly credentials = {};
  readonly access: ConnectOptions;
  readonly api: ApiClient;
  /** From spawning the launcher to the first 200 of `/readyz`. */
  readonly startMs: number;
  readonly #workspace: Workspace;
  readonly #child: ChildProcess;
  #inspector: Promise<Inspector> | undefined;

  readonly #reserveFile: string;

  private constructor(
    { workspace, dataDirectory }: Pick<ProductOptions, 'workspace' | 'dataDirectory'>,
    child: ChildProcess,
    access: ConnectOptions,
    startMs: number,
  ) {
    this.#workspace = workspace;
    this.#reserveFile = join(dataDirectory, 'orch.db-reserve');
    this.#child = child;
    this.access = access;
    this.api = new ApiClient(access);
    this.startMs = startMs;
  }

  static async start({
    workspace,
    launcher,
    dataDirectory,
    flags = [],
    nodeOptions = '',
  }: ProductOptions): Promise<Product> {
    const port = await freePort();
    const startedAt = performance.now();
    const child = workspace.spawn({
      command: launcher,
      args: ['up', '--data-dir', dataDirectory, '--secure-port', String(port), ...oneThread(flags), ...flags],
      env: { NODE_OPTIONS: `${inspectorOptions} ${nodeOptions}` },
    });
    const errors = collectText(child);
    const gone = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`orch up ended with ${code ?? signal} instead of starting: ${errors()}`);
    });
    try {
      await within(Promise.race([untilReady(port, child), gone]), startMsMax, 'starting orch up');
    } finally {
      gone.catch(() => {});
    }
    const startMs = performance.now() - startedAt;
    const access = readKubeconfig(join(dataDirectory, 'admin.kubeconfig'));
    return new Product({ workspace, dataDirectory }, child, access, startMs);
  }

  /** Connections of its administrator, or of others. */
  http2(count: number, access: ConnectOptions = this.access): Promise<Http2Client[]> {
    return Promise.all(Array.from({ length: count }, () => Http2Client.connect(access)));
  }

  /** How to reach it without the certificate of the administrator, or with another one. */
  accessWith(pair: Pick<ConnectOptions, 'cert' | 'key'>): ConnectOptions {
    const { port, ca } = this.access;
    return { port, ca, ...pair };
  }

  http1(count: number): Promise<Http1Client[]> {
    return Promise.all(Array.from({ length: count }, () => Http1Client.connect(this.access)));
  }

  /**
   * Resolves when the product has done what it does of itself after its start: each namespace has what controllers make in
   * it, room is set aside on the disk, nothing more is written, and the process rests.
   */
  async settled(): Promise<void> {
    const deadline = performance.now() + settledMsMax;
    let before = await this.#look();
    for (;;) {
      await pause(restMs);
      const now = await this.#look();
      const rests = now.cpuSeconds - before.cpuSeconds < (restMs / 1000) * restShare;
      const isDone = now.accounts >= now.namespaces && now.reserveBytes >= limits.sqliteReserveBytes;
      if (rests && isDone && now.revision === before.revision) return;
      if (performance.now() > deadline) throw new Error(`not settled within ${settledMsMax / 1000} s`);
      before = now;
    }
  }

  async #look() {
    const namespaces = await this.#count('/api/v1/namespaces');
    const accounts = await this.#count('/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault');
    return {
      namespaces: namespaces.items,
      accounts: accounts.items,
      revision: accounts.revision,
      reserveBytes: statSync(this.#reserveFile, { throwIfNoEntry: false })?.size ?? 0,
      cpuSeconds: this.cpuSeconds(),
    };
  }

  async #count(path: string): Promise<{ readonly items: number; readonly revision: string }> {
    const { body } = await this.api.expect(200, path, { headers: { accept: 'application/json' } });
    const { items, metadata }: CountedList = JSON.parse(body.toString());
    return { items: items.length, revision: metadata.resourceVersion };
  }

  cpuSeconds(): number {
    return cpuSeconds(this.#pid);
  }

  residentBytes(): number {
    return residentBytes(this.#pid);
  }

  /** Memory of the JavaScript engine in all threads: heaps and buffers. */
  async engineBytes(): Promise<number> {
    const inspector = await this.#inspect();
    return inspector.engineBytes();
  }

  /** Lets all of its threads, and those that it starts later, run on one core. */
  pin(core: number): void {
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(this.#pid)], { stdio: 'ignore' });
  }

  async collectGarbage(): Promise<void> {
    const inspector = await this.#inspect();
    await inspector.collectGarbage();
  }

  /** Looks at the turns of its event loop from now on. */
  async turnProbe(): Promise<TurnProbe> {
    return TurnProbe.start(await this.#inspect());
  }

  #inspect(): Promise<Inspector> {
    this.#inspector ??= Inspector.open(this.#child);
    return this.#inspector;
  }

  get #pid(): number {
    if (this.#child.pid === undefined) throw new Error('orch was not started');
    return this.#child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.close();
    (await this.#inspector)?.[Symbol.dispose]();
    await this.#workspace.stop(this.#child);
  }
}

/** The last of what a process printed to its error output. Shows its errors to whoever runs the bench. */
function collectText(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    const printed = chunk.toString();
    text = `${text}${printed}`.slice(-2_000);
    if (/^\S+ error /m.test(printed)) process.stderr.write(printed);
  });
  child.stdout?.resume();
  return () => text.trim();
}

async function untilReady(port: number, child: ChildProcess): Promise<void> {
  const until = async (holds: (port: number) => Promise<boolean>): Promise<void> => {
    while (child.exitCode === null && child.signalCode === null && !(await holds(port))) {
      await pause(pollMs);
    }
  };
  // An attempt that is refused costs the machine next to nothing, one of TLS would.
  await until(isListening);
  await until(isReady);
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connectTcp({ host: '127.0.0.1', port });
  socket.on('error', () => resolve(false));
  socket.on('connect', () => {
    resolve(true);
    socket.destroy();
  });
  return promise;
}

/** Nothing is verified: before the first start there is nothing to verify with. */
const anyServer = { secureContext: createSecureContext(), rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };

/** Asks on a connection of its own. */
function isReady(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connectTls({ host: '127.0.0.1', port, ...anyServer });
  socket.setTimeout(startMsMax, () => socket.destroy());
  socket.on('error', () => resolve(false));
  socket.on('close', () => resolve(false));
  socket.on('secureConnect', () =>
    socket.write('GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'),
  );
  socket.once('data', (head: Buffer) => {
    resolve(head.toString('latin1').startsWith('HTTP/1.1 200'));
    socket.destroy();
  });
  return promise;
}

/** Figures are those of one core, unless a scenario wants more. */
const oneThread = (flags: readonly string[]): readonly string[] =>
  flags.some((flag) => flag.startsWith('--serving-threads')) ? [] : ['--serving-threads=1'];
