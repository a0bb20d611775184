import { limits } from '../base/limits.ts';
import { union } from './field-set.ts';
import { type Owner, type Owners, ownerId } from './owners.ts';
import { compareText } from './published-json.ts';

/** Who owns what was written so long ago that its writers are no longer kept apart. */
const ancientManager = 'ancient-changes';

/**
 * Keeps no more than `limits.updateManagersMax` owners by update: the oldest, two and more of a version, become one.
 * Appliers are all kept: what they applied would otherwise not be pruned.
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

/** Puts a newer owner into the one for old changes, which the oldest of its version becomes where there is none. */
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
