import type { Change, Revision } from '../../../src/store/store.ts';
import type { Operation, State } from './operation.ts';

/** A write as the store kept it, of one object. */
export interface Commit {
  readonly revision: Revision;
  readonly key: string;
  readonly type: 'create' | 'update' | 'delete';
  /** What is there afterwards; of a deletion, what was. */
  readonly value: string;
}

/** The commits below a prefix, by the name that follows it. `storedValue` reads a stored object. */
export function commitsOf(
  changes: readonly Change[],
  prefix: string,
  storedValue: (stored: Uint8Array) => string,
): readonly Commit[] {
  return changes.flatMap((change): readonly Commit[] => {
    if (!change.key.startsWith(prefix)) return [];
    const { type, revision } = change;
    const stored = change.type === 'delete' ? change.previous.value : change.value;
    return [{ revision, key: change.key.slice(prefix.length), type, value: storedValue(stored) }];
  });
}

/** What is there at a revision. */
export function stateAt(log: readonly Commit[], revision: Revision): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  for (const commit of log) {
    if (commit.revision > revision) break;
    if (commit.type === 'delete') state.delete(commit.key);
    else state.set(commit.key, commit.value);
  }
  return state;
}

/**
 * Writes that were acknowledged are in the log, once, at the revision that was told; those of unknown outcome at most once;
 * those that were refused are not; and nothing else is.
 */
export function writesProblem(operations: readonly Operation[], log: readonly Commit[]): string | undefined {
  const written = new Map<string, Commit[]>();
  for (const commit of log) {
    if (commit.type === 'delete') continue;
    const of = `${commit.key} ${commit.value}`;
    written.set(of, [...(written.get(of) ?? []), commit]);
  }
  for (const { key, call, answer } of operations) {
    if (!('value' in call)) continue;
    const of = `${key} ${call.value}`;
    const commits = written.get(of) ?? [];
    written.delete(of);
    const [first] = commits;
    if (commits.length > 1) return `${of} was written ${commits.length} times`;
    if (answer.type === 'done' && !first) return `${of} was acknowledged and is lost`;
    if (answer.type === 'done' && answer.revision !== undefined && answer.revision !== first?.revision) {
      return `${of} was acknowledged at ${answer.revision} and is at ${first?.revision}`;
    }
    if (answer.type !== 'done' && answer.type !== 'unknown' && first) {
      return `${of} was answered with "${answer.type}" and written all the same`;
    }
  }
  const [stranger] = written.keys();
  return stranger === undefined ? undefined : `${stranger} was written by nobody`;
}

/** A list that a client was given, all pages of it. */
export interface ListRead {
  readonly client: string;
  /** The revision that the answer names. */
  readonly revision: Revision;
  /** The revision that was asked for; undefined: the latest. */
  readonly exact?: Revision | undefined;
  readonly items: ReadonlyMap<string, string>;
  readonly invokedAt: number;
}

/** A list shows what was there at its revision, the one that was asked for; one of the latest state no less than was acknowledged. */
export function listProblem(
  { client, revision, exact, items, invokedAt }: ListRead,
  log: readonly Commit[],
  operations: readonly Operation[],
): string | undefined {
  if (exact !== undefined && exact !== revision) return `${client} asked for ${exact} and was given ${revision}`;
  const expected = stateAt(log, revision);
  const keys = new Set([...expected.keys(), ...items.keys()]);
  for (const key of keys) {
    const [there, seen]: readonly State[] = [expected.get(key), items.get(key)];
    if (there !== seen) return `${client} saw ${key} as ${seen} at ${revision}, where it was ${there}`;
  }
  if (exact !== undefined) return undefined;
  const known = operations.flatMap(({ answer, answeredAt }) =>
    answer.type === 'done' && answeredAt < invokedAt ? [answer.revision ?? 0] : [],
  );
  const newest = Math.max(0, ...known);
  return newest > revision ? `${client} was given ${revision} after ${newest} had been acknowledged` : undefined;
}

/** What one watch showed, over all of its connections, each resumed where the one before ended. */
interface WatchRead {
  readonly client: string;
  /** The revision that it began after. */
  readonly from: Revision;
  readonly events: readonly WatchedEvent[];
}

export interface WatchedEvent {
  readonly type: string;
  readonly key: string;
  readonly value: string;
  readonly revision: Revision;
}

const eventTypes: Readonly<Record<Commit['type'], string>> = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' };

/**
 * A watch shows each commit after its start once, in order, as what it was; a bookmark says that nothing before it is left. Where
 * it had to list, it goes on after that list.
 */
function watchProblem({ client, from, events }: WatchRead, log: readonly Commit[]): string | undefined {
  const expected = log.filter(({ revision }) => revision > from);
  let seen = 0;
  let last = from;
  for (const { type, key, value, revision } of events) {
    const next = expected[seen];
    if (type === 'BOOKMARK') {
      if (next && next.revision <= revision)
        return `${client}: bookmark at ${revision} before ${next.key} at ${next.revision}`;
      if (revision < last) return `${client}: bookmark at ${revision} after ${last}`;
      last = revision;
      continue;
    }
    if (type === 'LISTED') {
      if (revision < last) return `${client}: a list at ${revision} after ${last}`;
      while ((expected[seen]?.revision ?? Number.POSITIVE_INFINITY) <= revision) seen += 1;
      last = revision;
      continue;
    }
    if (!next) return `${client}: ${type} ${key} at ${revision}, and nothing was written`;
    if (revision <= last) return `${client}: ${type} ${key} at ${revision} after ${last}: doubled, or out of order`;
    if (revision > next.revision)
      return `${client}: ${type} ${key} at ${revision}: ${next.key} at ${next.revision} was skipped`;
    if (revision < next.revision) return `${client}: ${type} ${key} at ${revision}, where nothing was written`;
    if (type !== eventTypes[next.type] || key !== next.key || value !== next.value) {
      return `${client}: ${type} ${key} ${value} at ${revision}, where ${next.type} ${next.key} ${next.value} was written`;
    }
    last = revision;
    seen += 1;
  }
  return undefined;
}

/** As `watchProblem`, and the watch has shown all. */
export function wholeWatchProblem(watch: WatchRead, log: readonly Commit[]): string | undefined {
  const problem = watchProblem(watch, log);
  if (problem !== undefined) return problem;
  const shown = watch.events.findLast(({ type }) => type !== 'BOOKMARK')?.revision ?? watch.from;
  const next = log.find(({ revision }) => revision > shown);
  return next && `${watch.client}: ${next.key} at ${next.revision} was never shown`;
}
