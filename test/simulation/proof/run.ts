import type { Change, Store } from '../../../src/store/store.ts';
import { Dice } from '../dice.ts';
import { write } from '../simulated-world.ts';
import { claimsProblem } from './claims.ts';
import { ask } from './client.ts';
import { Cluster } from './cluster.ts';
import { commitsOf, listProblem, wholeWatchProblem, writesProblem } from './committed.ts';
import { type StoreDefect, stormy } from './faulty-store.ts';
import { linearizabilityProblem } from './linearizability.ts';
import { Recorder } from './recorder.ts';
import { Watching } from './watching.ts';
import { Workload } from './workload.ts';

export interface RunOptions {
  readonly seed: number;
  readonly histories: number;
  readonly servers?: number;
  /** Planted, to see that it is found. */
  readonly defect?: StoreDefect | 'doubledEvent';
}

interface Findings {
  /** What is wrong, in words; empty where nothing is. */
  readonly problems: readonly string[];
  readonly operations: number;
  readonly unknown: number;
  readonly events: number;
}

const clients = 4;
const requestsPerClient = 12;
const watches = 2;
/** How often a server is killed in a history. */
const killRate = 0.3;

/** Runs histories one after the other in one cluster, and checks each. Ends with the first that is wrong. */
export async function simulate({ seed, histories, servers = 2, defect }: RunOptions): Promise<Findings> {
  const dice = new Dice(seed);
  const doubles = defect === 'doubledEvent';
  const ofStore = defect === 'doubledEvent' ? undefined : defect;
  await using cluster = await Cluster.start({ seed, dice, servers, rates: stormy, defect: ofStore });
  const sum = { operations: 0, unknown: 0, events: 0 };
  for (let history = 0; history < histories; history++) {
    const found = await runHistory(cluster, dice, { namespace: `history-${history}`, doubles });
    sum.operations += found.operations;
    sum.unknown += found.unknown;
    sum.events += found.events;
    if (found.problems.length > 0)
      return { ...sum, problems: found.problems.map((text) => `history ${history}: ${text}`) };
  }
  return { ...sum, problems: [] };
}

interface HistoryOptions {
  readonly namespace: string;
  readonly doubles: boolean;
}

async function runHistory(cluster: Cluster, dice: Dice, { namespace, doubles }: HistoryOptions): Promise<Findings> {
  await cluster.until(makeNamespace(cluster, dice, namespace));
  const from = await cluster.store.head();
  const recorder = new Recorder();
  const collection = `/api/v1/namespaces/${namespace}/configmaps`;
  const watching = Array.from({ length: watches }, () => new Watching({ cluster, dice, collection, from, doubles }));
  const work = Array.from({ length: clients }, (_, index) =>
    new Workload(`c${index}`, { cluster, dice, recorder, namespace }).run(requestsPerClient),
  );
  const killing = dice.chance(killRate) ? killOne(cluster, dice) : undefined;
  await cluster.until(Promise.all([...work, killing]));
  await cluster.until(cluster.pause(settledMs));
  const changes = await changesAfter(cluster.store, 1);
  const own = changes.filter(({ revision }) => revision > from);
  const log = commitsOf(own, `/core/configmaps/${namespace}/`, storedValue);
  const last = log.at(-1)?.revision ?? from;
  await cluster.until(Promise.all(watching.map((watch) => watch.end(last, cluster.pause(shownMsMax)))));
  const { operations, lists } = recorder;
  const problems = [
    linearizabilityProblem(operations),
    writesProblem(operations, log),
    claimsProblem(changes),
    ...lists.map((list) => listProblem(list, log, operations)),
    ...watching.map(({ events }, index) => wholeWatchProblem({ client: `w${index}`, from, events }, log)),
  ];
  return {
    problems: problems.filter((problem) => problem !== undefined),
    operations: operations.length,
    unknown: operations.filter(({ answer }) => answer.type === 'unknown').length,
    events: watching.reduce((sum, { events }) => sum + events.length, 0),
  };
}

/** Writes that come late have come by then. */
const settledMs = 50;
/** How long a watch may take for what is there, over all its connections. */
const shownMsMax = 20_000;
const killedWithinMs = 60;

async function killOne(cluster: Cluster, dice: Dice): Promise<void> {
  await cluster.pause(dice.below(killedWithinMs));
  await cluster.replace(dice.below(cluster.members.length));
}

/** Until it is there, whatever was answered. */
async function makeNamespace(cluster: Cluster, dice: Dice, name: string): Promise<void> {
  const request = write('POST', '/api/v1/namespaces', { metadata: { name } });
  for (;;) {
    const reply = await ask(dice.pick(cluster.members), request);
    if (reply !== 'gone' && (reply.status === 201 || reply.status === 409)) return;
  }
}

async function changesAfter(store: Store, from: number): Promise<readonly Change[]> {
  const head = await store.head();
  const all: Change[] = [];
  if (head === from) return all;
  for await (const { changes, revision } of store.changes(from, new AbortController().signal)) {
    all.push(...changes);
    if (revision >= head) break;
  }
  return all;
}

const storedValue = (stored: Uint8Array): string => JSON.parse(Buffer.from(stored).toString()).data.value;
