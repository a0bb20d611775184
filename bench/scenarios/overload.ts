import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { letRead, namespace } from '../api-objects.ts';
import type { FloodOrder } from '../flood-worker.ts';
import { type Http2Client, PreparedRequest, type RequestOptions } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import type { Product } from '../product.ts';
import type { Row } from '../report.ts';
import { ratesOf, ratioTo, takeTurns } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { within } from '../within.ts';

const path = `/api/v1/namespaces/${namespace}/configmaps?limit=1`;
const tokenOf = (name: string): string => `token-of-${name}`;
const floodClients = 720;
/** Until the gate has seen that the flood is one. */
const begunMs = 300;
const floodMsMax = 30_000;

/** What is left of the rate of one user while another floods the server: at least nine tenths. */
export const overload: Scenario = {
  name: 'overload',
  async run(context) {
    const { scale, workspace } = context;
    const tokens = workspace.freshPath('tokens.csv');
    writeFileSync(tokens, ['jane', 'kate'].map((name) => `${tokenOf(name)},${name},,\n`).join(''));
    await using product = await context.start({ flags: [`--token-auth-file=${tokens}`] });
    await letRead(product.api, ['jane', 'kate']);
    context.progress(`connecting ${floodClients} clients`);
    await using flood = await Flood.start(product);
    const [client] = await product.http2(1);
    if (!client) throw new Error('no connection');
    const alone = async () => rateOf(await load(client, 'kate', scale.roundMs));
    try {
      const [quiet = [], beside = []] = await takeTurns(scale.rounds, [alone, () => flood.during(alone)]);
      return [row(ratesOf(quiet), 'alone'), besideRow(ratesOf(beside), ratioTo(beside, quiet))];
    } finally {
      client.close();
    }
  },
};

/** Clients of one user who send all they can. */
class Flood implements AsyncDisposable {
  readonly #worker: Worker;

  private constructor(order: FloodOrder) {
    this.#worker = new Worker(new URL('../flood-worker.ts', import.meta.url), { workerData: order });
  }

  static async start({ access }: Product): Promise<Flood> {
    const { port, ca } = access;
    const flood = new Flood({ access: { port, ca }, clients: floodClients, request: requestOf('jane') });
    await flood.#answer('connecting the flood');
    return flood;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#worker.postMessage('begin');
    await pause(begunMs);
    const result = await work();
    this.#worker.postMessage('end');
    await this.#answer('the end of the flood');
    return result;
  }

  async #answer(to: string): Promise<void> {
    await within(once(this.#worker, 'message'), floodMsMax, to);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

const rateOf = ({ requests, seconds }: LoadResult) => ({ rate: requests / seconds });

const row = (measured: Row['measured'], how: string): Row => ({
  what: `LIST by one client, ${how}`,
  unit: 'req/s',
  measured,
});

const besideRow = (measured: Row['measured'], ratio: Row['measured']): Row => ({
  ...row(measured, `beside ${floodClients} clients of another user`),
  beside: { ratio, of: 'the row above' },
  reach: { of: 'beside', atLeast: 0.9 },
});

const requestOf = (name: string): RequestOptions => ({
  ...{ method: 'GET', path, headers: { accept: 'application/json' } },
  repeated: { authorization: `Bearer ${tokenOf(name)}` },
});

/** One request after the other. */
function load(client: Http2Client, name: string, durationMs: number): Promise<LoadResult> {
  const request = new PreparedRequest(requestOf(name));
  return runLoad({
    slots: 1,
    durationMs,
    expected: { status: 200 },
    send: (_slot, _turn, listener) => client.send(request, listener),
  });
}
