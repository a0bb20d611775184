import { limits } from '../base/limits.ts';
import { compareText } from './canonical-json.ts';
import { union } from './fields/field-set.ts';
import { type Owner, type Owners, ownerId } from './owners.ts';

/** The manager name of merged old updates. */
const ancientManager = 'ancient-changes';

/**
 * Limits the Update entries to `limits.updateManagersMax`: the oldest ones of a version are merged into one. All Apply
 * entries are kept, since pruning depends on them.
 */
export function capUpdaters(owners: Owners): Owners {
  if (owners.size <= limits.updateManagersMax) return owners;
  const updaters = [...owners.values()].filter(({ operation }) => operation === 'Update');
  if (updaters.length <= limits.updateManagersMax) return owners;
  const capped = new Map(owners);
  const oldestByVersion = new Map<string, Owner>();
  let count = updaters.length;
  for (const updater of updaters.sort(compareAge)) {
    if (count <= limits.updateManagersMax) break;
    const oldest = oldestByVersion.get(updater.apiVersion);
    if (oldest) {
      join(capped, oldest, updater);
      count--;
    } else oldestByVersion.set(updater.apiVersion, updater);
  }
  return capped;
}

const compareAge = (a: Owner, b: Owner): number =>
  compareText(a.time ?? '', b.time ?? '') || compareText(ownerId(a), ownerId(b));

/**
 * Merges a newer owner into the entry for old changes; the oldest entry of the version becomes that entry if there is
 * none.
 */
function join(owners: Map<string, Owner>, oldest: Owner, newer: Owner): void {
  const ancient = { ...newer, manager: ancientManager, subresource: '' };
  const id = ownerId(ancient);
  let known = owners.get(id);
  if (!known) {
    known = oldest;
    owners.delete(ownerId(oldest));
  }
  owners.delete(ownerId(newer));
  owners.set(id, { ...ancient, fields: union(known.fields, newer.fields) });
}
