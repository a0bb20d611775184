import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { letRead, namespace } from '../api-objects.ts';
import { type Http2Client, PreparedRequest } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import type { Product } from '../product.ts';
import type { Row } from '../report.ts';
import { ratesOf, ratioTo, takeTurns } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const path = `/api/v1/namespaces/${namespace}/configmaps?limit=1`;
const tokenOf = (name: string): string => `token-of-${name}`;
const floodClients = 720;
const connectedAtOnce = 40;
/** Until the gate has seen that the flood is one. */
const begunMs = 300;

/** What is left of the rate of one user while another floods the server: at least nine tenths. */
export const overload: Scenario = {
  name: 'overload',
  async run(context) {
    const { scale, workspace } = context;
    const tokens = workspace.freshPath('tokens.csv');
    writeFileSync(tokens, ['jane', 'kate'].map((name) => `${tokenOf(name)},${name},,\n`).join(''));
    await using product = await context.start({ flags: [`--token-auth-file=${tokens}`] });
    await letRead(product.api, ['jane', 'kate']);
    const crowd = await connect(product, floodClients, context);
    const [client] = await product.http2(1);
    if (!client) throw new Error('no connection');
    const alone = () => load([client], 'kate', scale.roundMs);
    try {
      const [quiet = [], beside = []] = await takeTurns(scale.rounds, [
        async () => rateOf(await alone()),
        async () => {
          const flood = load(crowd, 'jane', begunMs + scale.roundMs);
          // Its end is awaited below: a failure must not count as unhandled meanwhile.
          flood.catch(() => {});
          await pause(begunMs);
          const measured = await alone();
          await flood;
          return rateOf(measured);
        },
      ]);
      return [row(ratesOf(quiet), 'alone'), besideRow(ratesOf(beside), ratioTo(beside, quiet))];
    } finally {
      for (const each of [client, ...crowd]) each.close();
    }
  },
};

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

async function connect(product: Product, count: number, { progress }: BenchContext): Promise<readonly Http2Client[]> {
  progress(`connecting ${count} clients`);
  const clients: Http2Client[] = [];
  for (let n = 0; n < count; n += connectedAtOnce) {
    clients.push(...(await product.http2(Math.min(connectedAtOnce, count - n))));
  }
  return clients;
}

/** Each client sends its next request when it has the answer to its last. */
function load(clients: readonly Http2Client[], name: string, durationMs: number): Promise<LoadResult> {
  const repeated = { authorization: `Bearer ${tokenOf(name)}` };
  const request = new PreparedRequest({ method: 'GET', path, headers: { accept: 'application/json' }, repeated });
  return runLoad({
    slots: clients.length,
    durationMs,
    expected: { status: 200 },
    send: (slot, _turn, listener) => clients[slot]?.send(request, listener),
  });
}
