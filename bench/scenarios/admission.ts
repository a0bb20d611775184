import { makeMany, makePolicy, makeWebhook, type Rule } from '../admission-objects.ts';
import { AdmissionWebhook } from '../admission-webhook.ts';
import { json, namespace } from '../api-objects.ts';
import { cannedFrom } from '../ceiling.ts';
import { type Http2Client, PreparedRequest } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

const collection = `/api/v1/namespaces/${namespace}/configmaps`;
/** A write without its commit, which costs more than what is measured and is no part of it. */
const path = `${collection}?dryRun=All`;
const post = { method: 'POST' as const, headers: json, body: configMapBody({ name: 'judged', namespace }) };
const request = new PreparedRequest({ ...post, path });
const connections = 4;
const slots = 32;

const matching: Rule = { apiGroups: [''], resources: ['configmaps'] };

/** What comes of rules that an operator would write. */
const fiveRules = [
  "object.metadata.name.matches('^[a-z0-9-]+$')",
  "!has(object.metadata.labels) || object.metadata.labels.all(key, !key.startsWith('internal.'))",
  "has(object.data) && 'version' in object.data",
  'object.data.size() <= 100',
  "request.operation != 'UPDATE' || object.metadata.name == oldObject.metadata.name",
];

/** What webhooks and policies cost those that create objects. Products side by side, which differ in what they have of them. */
export const admission: Scenario = {
  name: 'admission',
  async run(context) {
    await using webhook = await AdmissionWebhook.start();
    await using stack = new AsyncDisposableStack();
    const start = async (fill: (product: Product) => Promise<unknown>): Promise<Product> => {
      const product = stack.use(await context.start());
      await fill(product);
      return product;
    };
    context.progress(`making ${many}`);
    const none = await start(async () => {});
    const others = await start((product) => makeOthers(product, webhook));
    const policy = await start(({ api }) => makePolicy(api, 'five', { rule: matching, expressions: fiveRules }));
    const asked = await start(({ api }) =>
      makeWebhook(api, 'asked', { rule: matching, clientConfig: webhook.clientConfig }),
    );
    const products = [none, others, policy, asked];
    for (const product of products) await product.settled();
    const rows = await measureCreates(context, products);
    if (webhook.questions === 0) throw new Error('the webhook was not asked');
    const reused = `${webhook.questions.toLocaleString('en-US')} questions; connections opened: ${webhook.connections}`;
    return [...rows.slice(0, -1), ...rows.slice(-1).map((row) => withNote(row, reused))];
  },
};

const many = `${sizes.webhooks} webhooks and ${sizes.policies} policies`;

/** None of them is for config maps: of some the group is another one, of others the resource. */
async function makeOthers({ api }: Product, { clientConfig }: AdmissionWebhook): Promise<void> {
  const ruleOf = (index: number): Rule =>
    index % 2 === 0
      ? { apiGroups: [''], resources: ['secrets', 'pods'] }
      : { apiGroups: [`team-${index}.example.com`], resources: ['*'] };
  await makeMany(sizes.webhooks, (at) => makeWebhook(api, `other-${at}`, { rule: ruleOf(at), clientConfig }));
  await makeMany(sizes.policies, (at) => makePolicy(api, `other-${at}`, { rule: ruleOf(at), expressions: fiveRules }));
}

/** Rounds are cut in so many: those that are compared should stand close together. */
const parts = 4;
/** Rounds that go before them, at once. */
const warmUps = 6;

async function measureCreates(context: BenchContext, products: readonly Product[]): Promise<readonly Row[]> {
  const { scale, progress } = context;
  progress('creating, as a dry run, without webhooks and policies and with them');
  const ceiling = await context.ceiling();
  const [none] = products;
  if (!none) throw new Error('there is no product');
  const answer = await none.api.expect(201, path, post);
  await ceiling.answer(path, cannedFrom(answer));
  const sides = [...products, ceiling];
  const clients: Http2Client[][] = [];
  const load = (at: number, durationMs: number) =>
    sampled(sides[at] ?? none, () => creates(clients[at] ?? [], durationMs));
  try {
    // What is compared is a few microseconds, and code that is not compiled yet takes many times that.
    for (const [at, side] of sides.entries()) {
      clients.push(await side.http2(connections));
      await load(at, warmUps * scale.roundMs);
    }
    const samples = await takeTurns(
      scale.rounds * parts,
      sides.map((_, at) => () => load(at, scale.roundMs / parts)),
    );
    const [without = [], others = [], policy = [], asked = [], bare = []] = samples as (Sample & LoadResult)[][];
    const cpu = (of: readonly Sample[]): number[] => of.map(({ cpuMicros = Number.NaN }) => cpuMicros);
    const added = (what: string, of: readonly Sample[]): Row => ({
      what: `CPU that ${what} to a create`,
      unit: 'µs',
      measured: statsOf(cpu(of).map((micros, round) => micros - (cpu(without)[round] ?? Number.NaN))),
      beside: { ratio: ratioTo(of, without), of: 'the creates a second without' },
      // On a machine that does something else as well, the best rounds say more than the others.
      notes: [`${shortNumber(statsOf(cpu(of)).min - statsOf(cpu(without)).min)} µs between the best rounds of both`],
    });
    return [
      {
        what: 'create, as a dry run, without webhooks and policies',
        unit: '/s',
        measured: ratesOf(without),
        ceiling: ratesOf(bare),
        ratio: ratioTo(without, bare),
        notes: [`CPU per request ${shortNumber(statsOf(cpu(without)).median)} µs`],
      },
      { ...added(`${many} for other resources add`, others), reach: { of: 'measured', atMost: 2 } },
      { ...added(`a policy of ${fiveRules.length} rules adds`, policy), reach: { of: 'measured', atMost: 30 } },
      withNote(added('a webhook adds', asked), latencyOf(asked)),
    ];
  } finally {
    for (const client of clients.flat()) client.close();
  }
}

function creates(clients: readonly Http2Client[], durationMs: number): Promise<LoadResult> {
  return runLoad({
    ...{ slots, durationMs },
    expected: { status: 201, bytesMin: sizes.objectBytes * 0.9 },
    send: (slot, _turn, listener) => clients[slot % clients.length]?.send(request, listener),
  });
}

const latencyOf = (samples: readonly LoadResult[]): string => {
  const median = (percent: number): string =>
    shortNumber(statsOf(samples.map(({ latencyMs }) => percentile(latencyMs, percent))).median);
  return `latency with it p50 ${median(50)} ms, p99 ${median(99)} ms, ${slots} requests at once`;
};

const withNote = (row: Row, note: string): Row => ({ ...row, notes: [...(row.notes ?? []), note] });
