import { readClaim } from '../../../src/registry/write/claims.ts';
import type { Change } from '../../../src/store/store.ts';

const claims = '/.claims/';
const services = '/core/services/';

/** Writes of a batch have one revision, or one each, which follow one another. */
type BatchRevisions = 'shared' | 'consecutive';

/**
 * After each batch, every service has claimed its address, and every claim has its service: what a batch writes is there as
 * a whole or not at all. `changes` of the whole store, from its beginning.
 */
export function claimsProblem(
  changes: readonly Change[],
  batchRevisions: BatchRevisions = 'shared',
): string | undefined {
  let unfinished: string | undefined;
  const holders = new Map<string, string>();
  const uids = new Map<string, string>();
  for (const [index, change] of changes.entries()) {
    const { key, revision } = change;
    if (key.startsWith(claims)) {
      if (change.type === 'delete') holders.delete(key);
      else holders.set(key, holderOf(change.value));
    } else if (key.startsWith(services)) {
      if (change.type === 'delete') uids.delete(key);
      else uids.set(key, JSON.parse(Buffer.from(change.value).toString()).metadata.uid);
    } else continue;
    if (changes[index + 1]?.revision === revision) continue;
    const problem = problemAt(revision, holders, uids);
    if (problem === undefined) unfinished = undefined;
    // A batch is an object and its claim: what the first of two writes leaves open, the second one closes.
    else if (batchRevisions === 'shared' || unfinished !== undefined || index + 1 === changes.length) return problem;
    else unfinished = problem;
  }
  return unfinished;
}

type ByKey = ReadonlyMap<string, string>;

function problemAt(revision: number, holders: ByKey, uids: ByKey): string | undefined {
  const held = new Set(holders.values());
  const there = new Set([...uids].map(([of, uid]) => `${of} ${uid}`));
  for (const service of there)
    if (!held.has(service)) return `${service} is there at ${revision} and has claimed nothing`;
  for (const holder of held)
    if (!there.has(holder)) return `${holder} claims an address at ${revision} and is not there`;
  return undefined;
}

function holderOf(value: Uint8Array): string {
  const holder = readClaim(value);
  return `${holder?.key} ${holder?.uid}`;
}
