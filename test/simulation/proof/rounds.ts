import { setTimeout as delay } from 'node:timers/promises';
import { until, within } from '../../../src/base/waits-fixture.ts';
import type { Change, Revision } from '../../../src/store/store.ts';
import type { Dice } from '../dice.ts';
import type { Servers } from './client.ts';
import { collectionOf, historyProblems, logOf, makeNamespace } from './history.ts';
import { Recorder } from './recorder.ts';
import { Watching } from './watching.ts';
import { Workload } from './workload.ts';

/** A fault of real processes. Resolves when it is over. */
export interface Fault {
  readonly name: string;
  strike(): Promise<void>;
}

interface RoundsOptions {
  readonly servers: Servers;
  readonly dice: Dice;
  readonly rounds: number;
  readonly fault: () => Fault;
}

/** What happened in one round: a burst of requests with a fault in the middle. */
export interface Round {
  readonly namespace: string;
  readonly fault: string;
  readonly from: Revision;
  /** The revision that watches were followed to. */
  readonly last: Revision;
  readonly recorder: Recorder;
  readonly watching: readonly Watching[];
}

interface Tally {
  readonly rounds: number;
  readonly operations: number;
  readonly unknown: number;
  readonly refused: number;
  readonly events: number;
}

const clients = 4;
const requestsPerClient = 12;
const watches = 2;
/** How long a watch may take for what is there, over all its connections. */
const shownMsMax = 20_000;

/** Rounds one after the other, in one store. They are checked when its log can be read. */
export async function runRounds({ servers, dice, rounds, fault }: RoundsOptions): Promise<readonly Round[]> {
  const done: Round[] = [];
  for (let number = 0; number < rounds; number++) {
    const { name, strike } = fault();
    done.push(await runRound({ servers, dice, namespace: `round-${number}`, fault: name, strike }));
  }
  return done;
}

interface RoundParts extends Omit<RoundsOptions, 'rounds' | 'fault'> {
  readonly namespace: string;
  readonly fault: string;
  readonly strike: Fault['strike'];
}

async function runRound({ servers, dice, namespace, fault, strike }: RoundParts): Promise<Round> {
  const from = await makeNamespace(servers, dice, namespace);
  const recorder = new Recorder();
  const parts = { servers, dice, recorder, namespace };
  const collection = collectionOf(namespace);
  const watching = Array.from(
    { length: watches },
    () => new Watching({ servers, dice, recorder, collection, from, doubles: false }),
  );
  try {
    const work = Promise.all(
      Array.from({ length: clients }, (_, index) => new Workload(`c${index}`, parts).run(requestsPerClient)),
    );
    const struck = duringWork(work, recorder, dice).then(strike);
    await within(Promise.all([work, struck]), `${namespace}: the work with the fault "${fault}" has not ended`);
    const last = await new Workload('last', parts).finish();
    await shownUntil(watching, last);
    return { namespace, fault, from, last, recorder, watching };
  } finally {
    await shownUntil(watching, 0);
  }
}

/** Resolves at some moment of the work. */
async function duringWork(work: Promise<unknown>, recorder: Recorder, dice: Dice): Promise<void> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  const answers = dice.below((clients * requestsPerClient * 2) / 3);
  await until(() => isOver || recorder.operations.length >= answers, `${answers} operations are not done`);
}

async function shownUntil(watching: readonly Watching[], last: Revision): Promise<void> {
  const late = new AbortController();
  const lateness = delay(shownMsMax, undefined, { signal: late.signal }).catch(() => {}); // not late
  await Promise.all(watching.map((watch) => watch.end(last, lateness)));
  late.abort();
}

/** What is wrong with the rounds, in words, with the changes of the whole store. */
export function roundsProblems(rounds: readonly Round[], changes: readonly Change[]): readonly string[] {
  return rounds.flatMap(({ namespace, fault, from, last, recorder, watching }) => {
    const log = logOf(changes, namespace);
    // Writes of unknown outcome may come later than the end of the watches.
    const shown = log.filter(({ revision }) => revision <= last);
    const watches = watching.map(({ events }) => ({ from, events }));
    const problems = historyProblems({ recorder, watches, log, shown });
    return problems.map((problem) => `${namespace} (${fault}): ${problem}`);
  });
}

export function tallyOf(rounds: readonly Round[]): Tally {
  const operations = rounds.flatMap(({ recorder }) => recorder.operations);
  const count = (type: string): number => operations.filter(({ answer }) => answer.type === type).length;
  return {
    rounds: rounds.length,
    operations: operations.length,
    unknown: count('unknown'),
    refused: count('refused'),
    events: rounds.flatMap(({ watching }) => watching.flatMap(({ events }) => events)).length,
  };
}
