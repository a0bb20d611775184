import { Dice } from '../dice.ts';
import { claimsProblem } from './claims.ts';
import { Cluster } from './cluster.ts';
import { type StoreDefect, stormy } from './faulty-store.ts';
import { changesAfter, collectionOf, historyProblems, logOf, makeNamespace } from './history.ts';
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
  const from = await cluster.until(makeNamespace(cluster, dice, namespace));
  const recorder = new Recorder();
  const collection = collectionOf(namespace);
  const watching = Array.from(
    { length: watches },
    () => new Watching({ servers: cluster, dice, recorder, collection, from, doubles }),
  );
  const work = Array.from({ length: clients }, (_, index) =>
    new Workload(`c${index}`, { servers: cluster, dice, recorder, namespace }).run(requestsPerClient),
  );
  const killing = dice.chance(killRate) ? killOne(cluster, dice) : undefined;
  await cluster.until(Promise.all([...work, killing]));
  await cluster.until(cluster.pause(settledMs));
  const changes = await changesAfter(cluster.store, 1);
  const log = logOf(changes, namespace);
  const last = log.at(-1)?.revision ?? from;
  await cluster.until(Promise.all(watching.map((watch) => watch.end(last, cluster.pause(shownMsMax)))));
  const { operations } = recorder;
  const shown = watching.map(({ events }) => ({ from, events }));
  const problems = [...historyProblems({ recorder, watches: shown, log }), claimsProblem(changes)];
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
