import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { within } from './within.ts';

/** Put into NODE_OPTIONS of a process that an `Inspector` is to reach; opens nothing before. */
export const inspectorOptions = '--inspect-port=127.0.0.1:0';

const waitMs = 10_000;

/** The inspector of a Node.js process. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Once for each process: it tells its address once. */
  static async open(child: ChildProcess): Promise<Inspector> {
    const address = within(inspectorAddress(child), waitMs, 'opening the inspector');
    child.kill('SIGUSR1');
    const socket = new WebSocket(await address);
    await within(once(socket, 'open'), waitMs, 'reaching the inspector');
    return new Inspector(socket);
  }

  /** Makes the process collect its garbage, all of it, and give memory back. */
  async collectGarbage(): Promise<void> {
    // The second pass frees what finalizers of the first one let go of.
    for (let pass = 1; pass <= 2; pass++) await this.#call('HeapProfiler.collectGarbage', {});
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

  async #call<T>(method: string, params: object): Promise<T> {
    const id = ++this.#lastId;
    const answer = within(once(this.#socket, 'message'), waitMs, method);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const [{ data }] = await answer;
    const { result }: { readonly result: T } = JSON.parse(String(data));
    return result;
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
