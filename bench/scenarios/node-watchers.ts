import { create } from '../api-objects.ts';
import { type Http2Client, PreparedRequest, type StreamListener } from '../http2-client.ts';
import { runLoad } from '../load.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';
import { within } from '../within.ts';

const pods = '/api/v1/namespaces/default/pods';
const name = 'watched';
const nodeOf = (index: number): string => `node-${index}`;
const json = { accept: 'application/json' };
const connections = 50;
const openMsMax = 30_000;

/** What an event costs beside watchers that it is not for: each watches the pods of its own node, as node agents do. */
export const nodeWatchers: Scenario = {
  name: 'node-watchers',
  async run(context) {
    const count = sizes.nodes.toLocaleString('en-US');
    context.progress(`changes of a pod beside ${count} watchers, each of another node, and beside one`);
    await using many = await watched(context, sizes.nodes);
    await using one = await watched(context, 1);
    const [ofMany = [], ofOne = []] = await takeTurns(context.scale.rounds, [() => many.round(), () => one.round()]);
    const micros = (samples: readonly Sample[]) => samples.map(({ cpuMicros = Number.NaN }) => cpuMicros);
    const beside = micros(ofOne);
    const more = micros(ofMany).map((each, round) => (each - (beside[round] ?? Number.NaN)) / 1_000);
    const row: Row = {
      what: `CPU of a pod's event beside ${count} watchers, each of its own node, more than beside one watcher`,
      unit: 'ms',
      measured: statsOf(more),
      reach: { of: 'measured', atMost: 1 },
      notes: [
        `a change of the pod ${shortNumber(statsOf(micros(ofMany)).median)} µs, beside one watcher ` +
          `${shortNumber(statsOf(beside).median)}`,
      ],
    };
    return [row];
  },
};

interface Watched extends AsyncDisposable {
  round(): Promise<Sample>;
}

async function watched(context: BenchContext, count: number): Promise<Watched> {
  const product = await context.start();
  const spec = { nodeName: nodeOf(0), containers: [{ name: 'one', image: 'one' }] };
  await create(product.api, pods, { metadata: { name }, spec });
  const clients = await product.http2(Math.min(count, connections));
  await openWatches(product, clients, count);
  const [writer] = await product.http2(1);
  if (!writer) throw new Error('no connection');
  let version = 0;
  const change = (): PreparedRequest => {
    version += 1;
    const body = Buffer.from(JSON.stringify({ metadata: { labels: { version: String(version) } } }));
    const headers = { ...json, 'content-type': 'application/merge-patch+json' };
    return new PreparedRequest({ method: 'PATCH', path: `${pods}/${name}`, headers, body });
  };
  return {
    round: () =>
      sampled(product, () =>
        runLoad({
          slots: 1,
          durationMs: context.scale.roundMs,
          expected: { status: 200 },
          send: (_slot, _turn, listener) => writer.send(change(), listener),
        }),
      ),
    async [Symbol.asyncDispose]() {
      for (const client of [...clients, writer]) client.close();
      await product[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when the watch of the pod's node has seen it, which is opened last. */
async function openWatches(product: Product, clients: readonly Http2Client[], count: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const listener = (seen: () => void): StreamListener => ({
    data: seen,
    end: () => reject(new Error('a watch has ended')),
    failed: reject,
  });
  for (let index = count - 1; index >= 0; index--) {
    const path = `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${nodeOf(index)}`;
    const seen = index === 0 ? resolve : () => {};
    clients[index % clients.length]?.send(new PreparedRequest({ method: 'GET', path, headers: json }), listener(seen));
  }
  await within(promise, openMsMax, `opening ${count} watches of ${product.access.port}`);
}
