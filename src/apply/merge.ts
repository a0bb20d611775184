import { equalValues } from './equal-values.ts';
import { difference, equalSets, type FieldSet, noFields, recursiveDifference, union } from './field-set.ts';
import { fieldsOf } from './fields-of.ts';
import { mergeValues } from './merge-values.ts';
import { noOwners, type Owner, type Owners, ownerId, type Writer } from './owners.ts';
import { prune } from './prune.ts';
import { changesOf, type Overruled, takeOver, type Write, written } from './take-over.ts';
import { type ConvertObject, reconcileOwners, type VersionedObject } from './versions.ts';

/**
 * Owners after an update: the writer owns each field whose value it set or changed, alone; fields that it left as they
 * were keep their owners, fields that it removed have none. Never a conflict. Gives `owners` itself when nothing changed.
 *
 * The writer's time moves when it changed anything, and no one else's.
 */
export function ownersAfterUpdate(owners: Owners, write: Write, writer: Writer, time: string): Owners {
  const changes = changesOf(write);
  if (!changes) return owners;
  if (owners.size === 0) return soleOwner(writer, time, written(changes));
  const reconciled = reconcileOwners(owners, write.now, write.convert);
  const id = ownerId(writer);
  const { owners: after } = takeOver(reconciled, write, changes);
  const before = reconciled.get(id);
  const kept = after.get(id)?.fields ?? noFields;
  const fields = union(kept, written(changes));
  if (fields.size === 0) return after;
  const touched = written(changes).size > 0 || !before || !equalSets(before.fields, kept);
  return after.set(id, { ...writer, time: touched ? time : before.time, fields });
}

const soleOwner = (writer: Writer, time: string, fields: FieldSet): Owners =>
  fields.size === 0 ? noOwners : new Map([[ownerId(writer), { ...writer, time, fields }]]);

export interface Application {
  readonly live: VersionedObject;
  /** As `readConfiguration` gives it, in the same version as the live object. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly owners: Owners;
  readonly applier: Writer;
  /** Takes fields that others want to have another value. */
  readonly force: boolean;
  readonly time: string;
  readonly excluded: FieldSet;
  readonly convert: ConvertObject | undefined;
}

type Merged =
  | {
      readonly type: 'merged';
      /** The live object itself where the application changes nothing of it. */
      readonly object: VersionedObject;
      /** The owners themselves where the application changes nothing of them. */
      readonly owners: Owners;
    }
  | { readonly type: 'conflicts'; readonly overruled: readonly Overruled[] };

/**
 * Lays a configuration over the live object. The applier owns what it applies, together with whoever wants the same value;
 * what it applied before and no longer does goes, unless somebody else owns it. Where others want another value there are
 * conflicts, or, by force, they lose the field.
 *
 * The applier's time moves when the object or what it owns changed.
 */
export function applyTo(application: Application): Merged {
  const { live, config, owners, applier, force, time, excluded, convert } = application;
  const merged = withConfig(live, config);
  const id = ownerId(applier);
  const fields = recursiveDifference(fieldsOf(live.shape, config), excluded);
  if (merged.value === live.value && isSettled(owners.get(id), applier, fields)) {
    return { type: 'merged', object: live, owners };
  }
  const reconciled = new Map(reconcileOwners(owners, live, convert));
  const last = reconciled.get(id);
  const next: Owner = { ...applier, time, fields };
  reconciled.set(id, next);
  const givesUp = last !== undefined && difference(last.fields, fields).size > 0;
  const object = givesUp ? withConfig(prune(merged, last, reconciled, convert), config) : merged;
  const write: Write = { old: live, now: object, excluded, convert };
  const changes = changesOf(write);
  const taken = changes && takeOver(reconciled, write, changes, id);
  if (taken && taken.overruled.length > 0 && !force) return { type: 'conflicts', overruled: taken.overruled };
  const after = taken?.owners ?? reconciled;
  // Not only what has owners can change: the order of lists, for one.
  const isSame = equalValues(live.value, object.value);
  if (fields.size === 0) after.delete(id);
  else if (last && isSame && isSettled(last, applier, fields)) after.set(id, { ...next, time: last.time });
  return { type: 'merged', object: isSame ? live : object, owners: after };
}

/** Once more after pruning, since nulls in the configuration are for containers that lost all they had. */
const withConfig = (object: VersionedObject, config: VersionedObject['value']): VersionedObject => ({
  ...object,
  value: mergeValues(object.shape, object.value, config) as VersionedObject['value'],
});

const isSettled = (last: Owner | undefined, { apiVersion }: Writer, fields: FieldSet): boolean =>
  last ? last.apiVersion === apiVersion && equalSets(last.fields, fields) : fields.size === 0;
