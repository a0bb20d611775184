import { equalValues } from '../schema/equal-values.ts';
import { difference, equalSets, type FieldSet, noFields, recursiveDifference, union } from './fields/field-set.ts';
import { fieldsOf } from './fields/fields-of.ts';
import { mergeValues } from './merge-values.ts';
import { noOwners, type Owner, type Owners, ownerId, type Writer } from './owners.ts';
import { prune } from './prune.ts';
import { changesOf, type Overruled, takeOver, type Write, written } from './take-over.ts';
import { type ConvertObject, reconcileOwners, type VersionedObject } from './versions.ts';

/**
 * Computes the owners after an update: the writer is the only owner of each field it set or changed; unchanged fields
 * keep their owners, removed fields have none. Never conflicts. Returns `owners` itself if nothing changed.
 *
 * Only the writer's time changes, and only if it changed something.
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
  /** As returned by `readConfiguration`, in the version of the live object. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly owners: Owners;
  readonly applier: Writer;
  /** Take over fields that other managers own with another value. */
  readonly force: boolean;
  readonly time: string;
  readonly excluded: FieldSet;
  readonly convert: ConvertObject | undefined;
}

type Merged =
  | {
      readonly type: 'merged';
      /** The live object itself if unchanged. */
      readonly object: VersionedObject;
      /** The input owners if unchanged. */
      readonly owners: Owners;
    }
  | { readonly type: 'conflicts'; readonly overruled: readonly Overruled[] };

/**
 * Applies a configuration to the live object. The applier owns the fields it applies, together with managers that have
 * the same value; fields that it applied before and no longer applies are removed unless someone else owns them.
 * Different values are conflicts or, with `force`, are taken from their owners.
 *
 * The applier's time changes if the object or its own fields changed.
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
  // Unowned aspects can change too, such as the order of lists.
  const isSame = equalValues(live.value, object.value);
  if (fields.size === 0) after.delete(id);
  else if (last && isSame && isSettled(last, applier, fields)) after.set(id, { ...next, time: last.time });
  return { type: 'merged', object: isSame ? live : object, owners: after };
}

/** Also merged again after pruning, since a null in the configuration may apply to a container that pruning emptied. */
const withConfig = (object: VersionedObject, config: VersionedObject['value']): VersionedObject => ({
  ...object,
  value: mergeValues(object.shape, object.value, config) as VersionedObject['value'],
});

const isSettled = (last: Owner | undefined, { apiVersion }: Writer, fields: FieldSet): boolean =>
  last ? last.apiVersion === apiVersion && equalSets(last.fields, fields) : fields.size === 0;
