import { setTimeout as pause } from 'node:timers/promises';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { ApiLoad } from '../api-load.ts';
import { besideRows } from '../api-measures.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

const objects = sizes.filledObjects.toLocaleString('en-US');
const fillMsMax = 300_000;
const megabyte = 1_000_000;
/** Its leases are renewed for as long as it runs: it never writes nothing. */
const settleMs = 5_000;

/** What the same product does on etcd, beside SQLite. Nothing where no etcd is on the PATH. */
export const onEtcd: Scenario = {
  name: 'on-etcd',
  async run(context) {
    if (etcdMissing) {
      context.progress(`on-etcd: not measured: ${etcdMissing}`);
      return [];
    }
    await using stack = new AsyncDisposableStack();
    const etcd = stack.adopt(await startEtcd(), (started) => started.stop());
    return [...(await besideSqlite(context, etcd)), await coldStart(context, etcd), ...(await filled(context, etcd))];
  },
};

async function besideSqlite(context: BenchContext, etcd: EtcdProcess): Promise<readonly Row[]> {
  await using ours = await context.start({ flags: [`--etcd-servers=${etcd.endpoint}`] });
  await using theirs = await context.start();
  return await besideRows(context, { ours, theirs, name: 'SQLite', prefix: 'on etcd: ' });
}

/** Each below a prefix of its own. */
const flagsOf = (etcd: EtcdProcess, prefix: string): readonly string[] => [
  `--etcd-servers=${etcd.endpoint}`,
  `--etcd-prefix=/${prefix}`,
];

async function coldStart(context: BenchContext, etcd: EtcdProcess): Promise<Row> {
  const all: number[] = [];
  for (let round = 1; round <= context.scale.coldStarts; round++) {
    context.progress(`cold start on etcd: ${round} of ${context.scale.coldStarts}`);
    await using product = await context.start({ flags: flagsOf(etcd, `cold-${round}`) });
    all.push(product.startMs);
  }
  return { what: 'on etcd: start on an empty prefix, to /readyz', unit: 'ms', measured: statsOf(all) };
}

async function filled(context: BenchContext, etcd: EtcdProcess): Promise<readonly Row[]> {
  const dataDirectory = context.workspace.freshPath('on-etcd');
  const flags = flagsOf(etcd, 'filled');
  let emptyBytes = 0;
  {
    context.progress(`making ${objects} objects on etcd`);
    await using product = await context.start({ dataDirectory, flags });
    await pause(settleMs);
    await product.collectGarbage();
    emptyBytes = product.residentBytes();
    const load = new ApiLoad(product, 'filled');
    await load.fill();
    await load.create({ durationMs: fillMsMax, requestsMax: sizes.filledObjects });
  }
  const starts: number[] = [];
  const resident: number[] = [];
  for (let round = 1; round <= context.scale.filledStarts; round++) {
    context.progress(`start with ${objects} objects on etcd: ${round} of ${context.scale.filledStarts}`);
    await using product = await context.start({ dataDirectory, flags });
    starts.push(product.startMs);
    await pause(settleMs);
    await product.collectGarbage();
    resident.push(product.residentBytes());
  }
  return [
    { what: `on etcd: start with ${objects} objects, to /readyz`, unit: 'ms', measured: statsOf(starts) },
    {
      what: `on etcd: memory of each of ${objects} objects of ${sizes.objectBytes} bytes`,
      unit: 'bytes',
      measured: statsOf(resident.map((bytes) => (bytes - emptyBytes) / sizes.filledObjects)),
      notes: [
        `resident after a full collection, in all ${shortNumber(statsOf(resident).median / megabyte)} MB; ` +
          `empty ${shortNumber(emptyBytes / megabyte)} MB`,
      ],
    },
  ];
}
