import { readClaim } from '../../../src/registry/write/claims.ts';
import type { Change } from '../../../src/store/store.ts';

const claims = '/.claims/';
const services = '/core/services/';

/**
 * After each revision, every service has claimed its address, and every claim has its service: what a batch writes is there as
 * a whole or not at all. `changes` of the whole store, from its beginning.
 */
export function claimsProblem(changes: readonly Change[]): string | undefined {
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
    const held = new Set(holders.values());
    const there = new Set([...uids].map(([of, uid]) => `${of} ${uid}`));
    for (const service of there)
      if (!held.has(service)) return `${service} is there at ${revision} and has claimed nothing`;
    for (const holder of held)
      if (!there.has(holder)) return `${holder} claims an address at ${revision} and is not there`;
  }
  return undefined;
}

function holderOf(value: Uint8Array): string {
  const holder = readClaim(value);
  return `${holder?.key} ${holder?.uid}`;
}
