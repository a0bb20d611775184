import { openEtcdStore } from '../../../src/store/drivers/etcd/etcd-store.ts';
import { openSqliteStore } from '../../../src/store/drivers/sqlite/sqlite-store.ts';
import type { Change, Revision, Store } from '../../../src/store/store.ts';
import type { Dice } from '../dice.ts';
import { get, write } from '../simulated-world.ts';
import { ask, type Servers } from './client.ts';
import {
  type Commit,
  commitsOf,
  listProblem,
  type WatchedEvent,
  wholeWatchProblem,
  writesProblem,
} from './committed.ts';
import { linearizabilityProblem } from './linearizability.ts';
import type { Recorder } from './recorder.ts';

/** A history is what clients do and see in a namespace of its own. */

export const collectionOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** Far more than faults that pass allow for. */
const attemptsMax = 20_000;

/** Until it is there, whatever was answered. Returns a revision before all that is written in it. */
export async function makeNamespace(servers: Servers, dice: Dice, name: string): Promise<Revision> {
  const create = write('POST', '/api/v1/namespaces', { metadata: { name } });
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const made = await ask(dice.pick(servers.members), create);
    if (made === 'gone' || (made.status !== 201 && made.status !== 409)) continue;
    const read = await ask(dice.pick(servers.members), get(`/api/v1/namespaces/${name}`));
    if (read !== 'gone' && read.status === 200) return Number(read.body.metadata?.resourceVersion);
  }
  throw new Error(`the namespace ${name} cannot be made`);
}

/** All changes of a store, from a revision to its head. */
export async function changesAfter(store: Store, from: Revision): Promise<readonly Change[]> {
  const head = await store.head();
  const all: Change[] = [];
  if (head === from) return all;
  for await (const { changes, revision } of store.changes(from, new AbortController().signal)) {
    all.push(...changes);
    if (revision >= head) break;
  }
  return all;
}

/** All changes of a data file that no process uses. */
export async function changesOfFile(file: string): Promise<readonly Change[]> {
  const store = await openSqliteStore({ file });
  try {
    return await changesAfter(store, 1);
  } finally {
    await store.close();
  }
}

/** All changes of what servers keep in an etcd. */
export async function changesOfEtcd(endpoints: readonly string[]): Promise<readonly Change[]> {
  const store = await openEtcdStore({ endpoints, prefix: '/registry' });
  try {
    return await changesAfter(store, 1);
  } finally {
    await store.close();
  }
}

/** What was written in the namespace of a history. */
export const logOf = (changes: readonly Change[], namespace: string): readonly Commit[] =>
  commitsOf(changes, `/core/configmaps/${namespace}/`, storedValue);

const storedValue = (stored: Uint8Array): string => JSON.parse(Buffer.from(stored).toString()).data.value;

interface History {
  readonly recorder: Recorder;
  /** What watches showed that began at `from`. */
  readonly watches: readonly { readonly from: Revision; readonly events: readonly WatchedEvent[] }[];
  readonly log: readonly Commit[];
  /** The part of the log that watches have to show. Default: all. */
  readonly shown?: readonly Commit[];
}

/** What is wrong, in words. */
export function historyProblems({ recorder, watches, log, shown = log }: History): readonly string[] {
  const { operations, lists } = recorder;
  const problems = [
    linearizabilityProblem(operations),
    writesProblem(operations, log),
    ...lists.map((list) => listProblem(list, log, operations)),
    ...watches.map((watch, index) => wholeWatchProblem({ ...watch, client: `w${index}` }, shown)),
  ];
  return problems.filter((problem) => problem !== undefined);
}
