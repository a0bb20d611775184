import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { within } from './within.ts';

/** Put into NODE_OPTIONS of a process that an `Inspector` is to reach; opens nothing before. */
export const inspectorOptions = '--inspect-port=127.0.0.1:0';

const waitMs = 10_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly message?: string };
  readonly result?: unknown;
}

/** The inspector of a Node.js process. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  #lastId = 0;
  readonly #answers = new Map<number, (result: unknown) => void>();
  /** Sessions of worker threads. */
  readonly #workers = new Set<string>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))));
  }

  /** Once for each process: it tells its address once. */
  static async open(child: ChildProcess): Promise<Inspector> {
    const address = within(inspectorAddress(child), waitMs, 'opening the inspector');
    child.kill('SIGUSR1');
    const socket = new WebSocket(await address);
    await within(once(socket, 'open'), waitMs, 'reaching the inspector');
    return new Inspector(socket);
  }

  /** Makes all threads of the process collect their garbage, all of it, and give memory back. */
  async collectGarbage(): Promise<void> {
    // The second pass frees what finalizers of the first one let go of.
    for (let pass = 1; pass <= 2; pass++) await this.#callAll('HeapProfiler.collectGarbage', {});
  }

  /** Heaps and buffers of all threads. */
  async engineBytes(): Promise<number> {
    const expression = '(({ heapUsed, arrayBuffers }) => heapUsed + arrayBuffers)(process.memoryUsage())';
    const answers = await this.#callAll<Evaluated<number>>('Runtime.evaluate', { expression, returnByValue: true });
    return answers.reduce((sum, { result }) => sum + result.value, 0);
  }

  /** Asks all threads. */
  async #callAll<T>(method: string, params: object): Promise<readonly T[]> {
    // Answered when all threads that are there have been told of.
    await this.#call('NodeWorker.enable', { waitForDebuggerOnStart: false });
    const answers = [await this.#call<T>(method, params)];
    for (const worker of this.#workers) answers.push(await this.#callWorker<T>(worker, method, params));
    await this.#call('NodeWorker.disable', {});
    this.#workers.clear();
    return answers;
  }

  /** Runs a function without free variables in the main thread of the process, and gives what it returns, as JSON has it. */
  async run<T>(body: () => T): Promise<T> {
    const { result, exceptionDetails } = await this.#call<Evaluated<T>>('Runtime.evaluate', {
      expression: `(${body})()`,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(`in the process: ${exceptionDetails.text}`);
    return result.value;
  }

  #receive({ id, method, params, result }: Message): void {
    if (id !== undefined) this.#answers.get(id)?.(result);
    else if (method === 'NodeWorker.attachedToWorker' && params?.sessionId) this.#workers.add(params.sessionId);
    else if (method === 'NodeWorker.receivedMessageFromWorker' && params?.message) {
      this.#receive(JSON.parse(params.message));
    }
  }

  async #call<T>(method: string, params: object): Promise<T> {
    return this.#answerTo(method, (id) => this.#socket.send(JSON.stringify({ id, method, params })));
  }

  #callWorker<T>(sessionId: string, method: string, params: object): Promise<T> {
    return this.#answerTo(method, (id) => {
      const message = JSON.stringify({ id, method, params });
      void this.#call('NodeWorker.sendMessageToWorker', { sessionId, message });
    });
  }

  async #answerTo<T>(what: string, send: (id: number) => void): Promise<T> {
    this.#lastId += 1;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const id = this.#lastId;
    this.#answers.set(id, resolve);
    send(id);
    try {
      return (await within(promise, waitMs, what)) as T;
    } finally {
      this.#answers.delete(id);
    }
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

interface Evaluated<T> {
  readonly result: { readonly value: T };
  readonly exceptionDetails?: { readonly text: string };
}

async function inspectorAddress({ stderr }: ChildProcess): Promise<string> {
  if (!stderr) throw new Error('the process has no error output');
  let text = '';
  for (;;) {
    const [chunk] = await once(stderr, 'data');
    text += String(chunk);
    const address = /Debugger listening on (ws:\S+)/.exec(text)?.[1];
    if (address !== undefined) return address;
  }
}
