import { create } from '../api-objects.ts';
import { ClientAuthority, type ClientPair } from '../client-authority.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, learn, type Read, type Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { makeManyRoles, makeOneRole, team, teamNamespace } from '../roles.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

const collection = `/api/v1/namespaces/${teamNamespace}/configmaps`;
const read: Read = { path: `${collection}/one` };
const streams = { connections: 4, streams: 24 };

const roles = sizes.roleNamespaces * sizes.rolesPerNamespace;
const many = `${roles.toLocaleString('en-US')} roles and as many bindings`;

/**
 * What many roles cost. Two products run side by side: one with the roles that every one has and the one by which the user
 * reads, the other with many more, whose bindings all name the group of the user.
 */
export const authorization: Scenario = {
  name: 'authorization',
  async run(context) {
    const authority = new ClientAuthority(context.workspace.freshPath('authorization'), 'users');
    const start = (dataDirectory: string): Promise<Product> =>
      context.start({ dataDirectory, flags: [`--client-ca-file=${authority.file}`] });
    const directories = { few: context.workspace.freshPath('few'), many: context.workspace.freshPath('many') };
    const reads = await measureReads(context, authority.issue('member', [team.name]), {
      few: () => start(directories.few),
      many: () => start(directories.many),
    });
    const starts = await measureStarts(context, {
      few: () => start(directories.few),
      many: () => start(directories.many),
    });
    return [...reads, ...starts];
  },
};

/** One with few roles, one with many. */
interface Pair<T> {
  readonly few: T;
  readonly many: T;
}

async function measureReads(
  context: BenchContext,
  user: ClientPair,
  start: Pair<() => Promise<Product>>,
): Promise<readonly Row[]> {
  const { scale, progress } = context;
  await using few = await start.few();
  await using more = await start.many();
  for (const product of [few, more]) {
    await makeOneRole(product);
    await create(product.api, collection, JSON.parse(oneConfigMap));
  }
  progress(`creating ${many}`);
  const fillingSince = performance.now();
  await makeManyRoles(more);
  const fillSeconds = (performance.now() - fillingSince) / 1000;
  progress(`GET one object with few roles, and with ${many}`);
  const ceiling = await context.ceiling();
  const answer = await learn(few, ceiling, read);
  using bare = await http2Reader(ceiling, read, answer, streams);
  using ofFew = await readerAs(few, user);
  using ofMore = await readerAs(more, user);
  const bounds = { durationMs: scale.roundMs / parts };
  const [fewSamples = [], moreSamples = [], limit = []] = await takeTurns(scale.rounds * turns, [
    () => sampled(few, () => ofFew.read(bounds)),
    () => sampled(more, () => ofMore.read(bounds)),
    () => sampled(ceiling, () => bare.read(bounds)),
  ]);
  const row = (what: string, samples: readonly Sample[]): Row => ({
    what: `GET one object by RBAC, ${what}`,
    unit: '/s',
    measured: ratesOf(samples),
    ceiling: ratesOf(limit),
    ratio: ratioTo(samples, limit),
    notes: [`CPU per request ${shortNumber(medianCpu(samples) ?? 0)} µs`],
  });
  const withMany = row(many, moreSamples);
  return [
    row('few roles', fewSamples),
    {
      ...withMany,
      beside: { ratio: ratioTo(moreSamples, fewSamples), of: 'the row with few roles' },
      reach: { of: 'beside', atLeast: 0.9 },
      notes: [...(withMany.notes ?? []), `they were created within ${shortNumber(fillSeconds)} s`],
    },
  ];
}

/** Rounds are cut in so many: both of a pair should stand close together. */
const parts = 3;
/** The first of them, right after the objects were made, are slow: with three times as many the median says little of them. */
const turns = 3 * parts;

async function readerAs(product: Product, user: ClientPair): Promise<Reader> {
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  const side = { http2: (count: number) => product.http2(count, product.accessWith(user)) };
  return http2Reader(side, read, answer, streams);
}

/** Starts on what `measureReads` has left behind, and the memory that is held after them. */
async function measureStarts(
  { scale, progress }: BenchContext,
  start: Pair<() => Promise<Product>>,
): Promise<readonly Row[]> {
  const startMs = { few: [] as number[], many: [] as number[] };
  const bytes = { few: [] as number[], many: [] as number[] };
  for (let round = 1; round <= scale.filledStarts; round++) {
    progress(`start with few roles, and with ${many}: ${round} of ${scale.filledStarts}`);
    for (const which of ['few', 'many'] as const) {
      await using product = await start[which]();
      startMs[which].push(product.startMs);
      await product.collectGarbage();
      bytes[which].push(product.residentBytes());
    }
  }
  const added = statsOf(bytes.many.map((value, round) => (value - (bytes.few[round] ?? Number.NaN)) / megabyte));
  return [
    {
      what: `start with ${many}, to /readyz`,
      unit: 'ms',
      measured: statsOf(startMs.many),
      notes: [`on a directory with few roles ${shortNumber(statsOf(startMs.few).median)} ms`],
    },
    {
      what: `memory of ${many}`,
      unit: 'MB',
      measured: added,
      notes: [
        `${shortNumber((added.median * megabyte) / (2 * roles))} bytes for each of them, after a full collection`,
      ],
    },
  ];
}

const megabyte = 1_000_000;

const oneConfigMap = configMapBody({ name: 'one', namespace: teamNamespace }).toString();
