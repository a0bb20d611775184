import { cpSync } from 'node:fs';
/** `npm run bench`: measures the product beside what this machine can do at all (design section 8). */
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { Ceiling } from './ceiling.ts';
import { writeResults } from './document.ts';
import { fillDataDirectory } from './filled-data.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { Product } from './product.ts';
import { isMet, type Row, textTable } from './report.ts';
import { fullScale, quickScale, sizes } from './scale.ts';
import type { BenchContext, Scenario } from './scenario.ts';
import { admission } from './scenarios/admission.ts';
import { audit } from './scenarios/audit.ts';
import { authorization } from './scenarios/authorization.ts';
import { certificates } from './scenarios/certificates.ts';
import { credentials } from './scenarios/credentials.ts';
import { customRequests } from './scenarios/custom-requests.ts';
import { customResources } from './scenarios/custom-resources.ts';
import { definitionHolds } from './scenarios/definition-holds.ts';
import { get } from './scenarios/get.ts';
import { growth } from './scenarios/growth.ts';
import { holds } from './scenarios/holds.ts';
import { list } from './scenarios/list.ts';
import { memory } from './scenarios/memory.ts';
import { mixed } from './scenarios/mixed.ts';
import { nodeWatchers } from './scenarios/node-watchers.ts';
import { onEtcd } from './scenarios/on-etcd.ts';
import { overload } from './scenarios/overload.ts';
import { peer } from './scenarios/peer.ts';
import { policyHolds } from './scenarios/policy-holds.ts';
import { reviews } from './scenarios/reviews.ts';
import { start } from './scenarios/start.ts';
import { threads } from './scenarios/threads.ts';
import { tracing } from './scenarios/tracing.ts';
import { watch } from './scenarios/watch.ts';
import { workloadHolds } from './scenarios/workload-holds.ts';
import { write } from './scenarios/write.ts';
import { makeShippedPackage } from './shipped.ts';
import { Workspace } from './workspace.ts';

const root = resolve(import.meta.dirname, '..');
/** Starts go first, while nothing else runs. */
const scenarios: readonly Scenario[] = [
  start,
  customResources,
  customRequests,
  memory,
  get,
  credentials,
  reviews,
  authorization,
  audit,
  tracing,
  write,
  admission,
  certificates,
  watch,
  nodeWatchers,
  list,
  holds,
  definitionHolds,
  policyHolds,
  workloadHolds,
  overload,
  threads,
  mixed,
  onEtcd,
  growth,
];
const names = scenarios.map(({ name }) => name);
/** The whole run ends by then, whatever hangs. */
const runMsMax = 4_500_000;

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const chosen = options.peer === undefined ? choose(options.only) : [peer(options.peer)];
  const startedAt = performance.now();
  const progress = (text: string): void => {
    process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
  };
  const workspace = new Workspace();
  process.stderr.write(`${machine()}\n`);
  progress('building the package');
  const launcher = await makeShippedPackage(root, workspace.freshPath('package'));
  const context = makeContext(options, workspace, launcher, progress);
  const rows: Row[] = [];
  const failed: string[] = [];
  for (const { name, run } of chosen) {
    try {
      const measured = await run(context);
      rows.push(...measured);
      process.stderr.write(`\n${textTable(measured)}\n`);
      if (options.write)
        writeResults(root, names, {
          name,
          rows: measured,
          machine: `${machine()}, ${new Date().toISOString().slice(0, 10)}`,
        });
    } catch (error) {
      failed.push(name);
      progress(`${name}: FAILED: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  progress('done');
  process.stdout.write(`\n${textTable(rows)}`);
  const short = rows.filter((row) => isMet(row) === false);
  if (short.length > 0) process.stdout.write(`\nshort of the reach: ${short.map(({ what }) => what).join('; ')}\n`);
  return failed.length === 0 ? 0 : 1;
}

function choose(only: readonly string[]): readonly Scenario[] {
  if (only.length === 0) return scenarios;
  const chosen = scenarios.filter(({ name }) => only.some((start) => name.startsWith(start)));
  if (chosen.length > 0) return chosen;
  throw new TypeError(`--only: there are ${names.join(', ')}`);
}

function makeContext(
  { quick, profileDirectory, nodeOptions }: BenchOptions,
  workspace: Workspace,
  launcher: string,
  progress: (text: string) => void,
): BenchContext {
  const profiling =
    profileDirectory === undefined ? '' : `--cpu-prof --cpu-prof-dir=${JSON.stringify(resolve(profileDirectory))}`;
  let ceiling: Promise<Ceiling> | undefined;
  let filled: Promise<string> | undefined;
  let pods: Promise<string> | undefined;
  return {
    scale: quick ? quickScale : fullScale,
    workspace,
    progress,
    start: ({ dataDirectory = workspace.freshPath('data'), flags = [] } = {}) =>
      Product.start({ workspace, launcher, dataDirectory, flags, nodeOptions: `${profiling} ${nodeOptions}` }),
    ceiling() {
      ceiling ??= Ceiling.start(workspace, profiling);
      return ceiling;
    },
    filledDirectory() {
      filled ??= fill(workspace, progress, 'ConfigMaps');
      return filled;
    },
    async filledCopy() {
      const copy = workspace.freshPath('filled-copy');
      cpSync(await this.filledDirectory(), copy, { recursive: true });
      return copy;
    },
    podsDirectory() {
      pods ??= fill(workspace, progress, 'Pods');
      return pods;
    },
  };
}

async function fill(
  workspace: Workspace,
  progress: (text: string) => void,
  what: 'ConfigMaps' | 'Pods',
): Promise<string> {
  progress(`filling a store with ${sizes.filledObjects.toLocaleString('en-US')} ${what}`);
  const directory = workspace.freshPath('filled');
  await fillDataDirectory(directory, what);
  return directory;
}

const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
  `${process.platform} ${process.arch}, Node.js ${process.versions.node}`;

const timer = setTimeout(() => {
  process.stderr.write(`bench: not done within ${runMsMax / 1000} s\n`);
  process.exit(1);
}, runMsMax);
timer.unref();
// The workspace is cleared when the process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
