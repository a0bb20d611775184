import type { ApiObject, ManagedFieldsEntry } from '../meta/api-object.ts';
import { badRequest } from '../meta/status-error.ts';
import { isRecord } from '../schema/own-property.ts';
import type { StructSchema } from '../schema/schema.ts';
import { formatTime } from '../schema/time.ts';
import { capUpdaters } from './cap-updaters.ts';
import { type ConfigurationProblem, readConfiguration } from './configuration.ts';
import { type Conflict, conflictsOf } from './conflict.ts';
import { equalValues } from './equal-values.ts';
import { type FieldSet, has, noFields } from './field-set.ts';
import { type ClientSideApply, keepLastApplied, lastAppliedFields } from './last-applied.ts';
import { asksReset, decodeOwners, encodeOwners } from './managed-fields.ts';
import { type Application, applyTo, ownersAfterUpdate } from './merge.ts';
import { newObject } from './new-object.ts';
import { noOwners, type Owners, type Writer } from './owners.ts';
import { objectShapeOf } from './shape.ts';
import type { Write } from './take-over.ts';
import type { ConvertObject, VersionedObject } from './versions.ts';

/**
 * Server-side apply and field ownership (spec section 4.7, KEP-555), as functions of objects: nothing here reads or keeps
 * any. Every write of an object goes through one of two: `updateManagedFields` for those that say what the object shall be
 * (create, update, patches), `applyConfiguration` for those that say what the writer wants of it.
 *
 * Field sets, order of entries, texts and rules are the published ones, but for these, where the published ones surprise:
 * - Asking for a value that decoding drops (zero, null) agrees with its absence, so two appliers can ask for it.
 * - A configuration is compared in the form in which it is stored: `1000m` is `1`, atomic values have their defaults.
 * - Unknown fields of a configuration are told to the caller and left out, as in all other writes; published servers refuse.
 * - Nobody owns `deletionTimestamp` or `deletionGracePeriodSeconds`: what a configuration asks of them is not kept.
 * - A container that loses its last field, and that somebody owns as such, stays as an empty one.
 * - An entry has a new time whenever its manager changed the object or what the manager owns, by removing fields too; one
 *   that it loses to others leaves its time as it is.
 */

/** Who writes, and through which door. */
export interface WriteSource {
  readonly schema: StructSchema;
  /** Of the objects, and of the version in which the writer names fields: `v1`, `coordination.orch.io/v1`. */
  readonly apiVersion: string;
  /** The field manager; `unknown` where it is empty. */
  readonly manager: string;
  /** The subresource written through; '' for the object itself. */
  readonly subresource: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Fields that this door never writes: nobody comes to own them, or what is below them, through it. `status` for objects
   * with a subresource of that name, all else but it for that subresource. Made by `fieldSetOfNames`, once.
   */
  readonly resetFields?: FieldSet;
  /** For entries in other versions of the object. Without it these are obsolete, and go with the next change. */
  readonly convert?: ConvertObject;
}

interface ObjectUpdate extends WriteSource {
  /** What is stored; undefined when the object is created. Not changed. */
  readonly old: ApiObject | undefined;
  /** What is to be stored, decoded and defaulted, with the managedFields that the client sent. */
  readonly object: ApiObject;
}

/**
 * Sets the `metadata.managedFields` of an object that is about to be stored. The writer owns what it changes, alone; what it
 * changes to what it was keeps its owners, and its entry keeps its time. Never fails.
 *
 * Managed fields that the client sent take the place of the stored ones, unless they are empty, no such list, or come
 * through a subresource. A list of one empty entry makes all forgotten before the write is looked at. Objects that are stored without
 * owners get none by an update, other than that: they are tracked from their first apply.
 */
export function updateManagedFields(update: ObjectUpdate): void {
  const { old, object } = update;
  const entries = entriesAfterUpdate(update);
  // An update may have sent the entries that are stored in another form; those are kept as they were.
  if (entries === undefined || entries.length === 0) delete object.metadata.managedFields;
  else if (old?.metadata.managedFields && equalValues(entries, old.metadata.managedFields)) {
    object.metadata.managedFields = old.metadata.managedFields;
  } else object.metadata.managedFields = entries;
}

function entriesAfterUpdate(update: ObjectUpdate): ManagedFieldsEntry[] | undefined {
  const { old, object } = update;
  const isReset = update.subresource === '' && asksReset(object.metadata.managedFields ?? []);
  const known = isReset ? noOwners : knownOwners(update);
  if (old && !isReset && known.size === 0) return undefined;
  const write: Write = {
    old: versioned(update, old ?? newObject(update.schema, object)),
    now: versioned(update, object),
    excluded: update.resetFields ?? noFields,
    convert: update.convert,
  };
  return encodeOwners(capUpdaters(ownersAfterUpdate(known, write, writerOf(update, 'Update'), timeOf(update))));
}

function knownOwners({ old, object, subresource }: ObjectUpdate): Owners {
  const stored = old?.metadata.managedFields ?? [];
  const sent = object.metadata.managedFields ?? [];
  if (subresource === '' && sent.length > 0 && !equalValues(sent, stored)) {
    const owners = decodeOwners(sent, 'sent');
    if (owners && owners.size > 0) return owners;
  }
  return storedOwners(stored);
}

const storedOwners = (entries: readonly ManagedFieldsEntry[]): Owners => decodeOwners(entries, 'stored') ?? noOwners;

const writerOf = ({ manager, apiVersion, subresource }: WriteSource, operation: Writer['operation']): Writer => ({
  manager: manager === '' ? 'unknown' : manager,
  operation,
  apiVersion,
  subresource,
});

const timeOf = ({ nowMs }: WriteSource): string => formatTime(nowMs);

const versioned = ({ schema, apiVersion }: WriteSource, value: Readonly<Record<string, unknown>>): VersionedObject => ({
  apiVersion,
  shape: objectShapeOf(schema),
  value,
});

interface ConfigurationApply extends WriteSource {
  /** What is stored; undefined when the object is created. Not changed. */
  readonly live: ApiObject | undefined;
  /** The body as it was parsed, of the apiVersion and kind of the object. Not changed. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Takes fields that others want to have another value. */
  readonly force: boolean;
  /** For objects that the same client applied by merging them itself. */
  readonly clientSideApply?: ClientSideApply;
}

/** `unknown` names the fields of the configuration that the schema does not have: `spec.containers[0].nmae`. */
type Applied =
  | {
      readonly type: 'applied';
      /**
       * What is to be stored, with its managedFields. Still to be decoded, defaulted and validated; decoding also drops the
       * nulls in it. Shares parts with the live object and the configuration, so it must be copied before it is changed.
       */
      readonly object: Readonly<Record<string, unknown>>;
      /** False when this is the live object itself: there is nothing to store. */
      readonly changed: boolean;
      readonly unknown: readonly string[];
    }
  | { readonly type: 'conflicts'; readonly conflicts: readonly Conflict[]; readonly unknown: readonly string[] };

/**
 * Applies a configuration to an object, or makes the object of it. Conflicts are told, sorted, and nothing else is; see
 * `applyConflict`. Throws BadRequest that names the fields of a configuration that cannot be one of its kind: values of the
 * wrong type, elements of lists without their keys or with those of another, managedFields.
 */
export function applyConfiguration(request: ConfigurationApply): Applied {
  const { unknown, ...application } = readApplication(request);
  const { clientSideApply, live } = request;
  let merged = applyTo(application);
  const isClient = clientSideApply?.manager === request.manager;
  if (merged.type === 'conflicts') {
    const own = isClient ? lastAppliedFields(application.live, clientSideApply.annotation) : noFields;
    const conflicts = conflictsOf(merged.overruled).filter(({ path }) => !has(own, path));
    if (conflicts.length > 0) return { type: 'conflicts', conflicts, unknown };
    merged = applyTo({ ...application, force: true });
    if (merged.type === 'conflicts') throw new TypeError('an apply by force has no conflicts');
  }
  let object = merged.object.value;
  if (isClient) object = keepLastApplied(object, request.config, clientSideApply.annotation);
  const isSame = live !== undefined && object === live && merged.owners === application.known;
  return { type: 'applied', object: isSame ? object : withEntries(object, merged.owners), changed: !isSame, unknown };
}

interface ReadApplication extends Application {
  /** Owners as they are stored. */
  readonly known: Owners;
  readonly unknown: readonly string[];
}

function readApplication(request: ConfigurationApply): ReadApplication {
  const { schema, live, resetFields: excluded = noFields, convert } = request;
  const { value: config, unknown, problems } = readConfiguration(objectShapeOf(schema), request.config);
  if (problems.length > 0) throw badRequest(describeProblems(request.config, problems));
  const sentEntries = isRecord(request.config['metadata']) ? request.config['metadata']['managedFields'] : undefined;
  if (sentEntries !== undefined && sentEntries !== null) throw badRequest('metadata.managedFields must be nil');
  const known = storedOwners(live?.metadata.managedFields ?? []);
  const base = { live: versioned(request, live ?? emptyObject), excluded, convert };
  const owners = known.size === 0 && live ? ownersBeforeFirstApply(request, live, base) : known;
  const applier = writerOf(request, 'Apply');
  return { ...base, config, owners, applier, force: request.force, time: timeOf(request), known, unknown };
}

const emptyObject = { metadata: {} };

/** Whoever wrote an object whose owners were not tracked until now. */
const untrackedManager = 'before-first-apply';

function ownersBeforeFirstApply(
  request: ConfigurationApply,
  live: ApiObject,
  base: Pick<Application, 'live' | 'excluded' | 'convert'>,
): Owners {
  const write: Write = { old: versioned(request, newObject(request.schema, live)), now: base.live, ...base };
  const writer = writerOf({ ...request, manager: untrackedManager }, 'Update');
  return ownersAfterUpdate(noOwners, write, writer, timeOf(request));
}

/** `failed to create typed patch object (default/web; v1, Kind=Pod): .spec.containers: ...`, as clients know it. */
function describeProblems(
  config: Readonly<Record<string, unknown>>,
  problems: readonly ConfigurationProblem[],
): string {
  const metadata = isRecord(config['metadata']) ? config['metadata'] : {};
  const lines = problems.map(({ path, problem }) => (path === '' ? problem : `${path}: ${problem}`));
  const text = lines.length === 1 ? lines[0] : `errors:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  const name = `${metadata['namespace'] ?? ''}/${metadata['name'] ?? ''}`;
  return `failed to create typed patch object (${name}; ${config['apiVersion']}, Kind=${config['kind']}): ${text}`;
}

function withEntries(object: Readonly<Record<string, unknown>>, owners: Owners): Readonly<Record<string, unknown>> {
  const { managedFields: _, ...metadata } = object['metadata'] as ApiObject['metadata'];
  const entries = encodeOwners(owners);
  return { ...object, metadata: { ...metadata, ...(entries && { managedFields: entries }) } };
}

/**
 * Puts back the managedFields of the stored object where nothing but their times is different, so that a write that came
 * to nothing, after defaulting and admission, makes no new revision. `object` is as it would be stored; its
 * resourceVersion does not count.
 */
export function keepTimesOfNothing(object: ApiObject, old: ApiObject): void {
  const [entries, oldEntries] = [object.metadata.managedFields, old.metadata.managedFields];
  if (!entries || !oldEntries || entries === oldEntries || entries.length !== oldEntries.length) return;
  const oldByOwner = new Map(oldEntries.map((entry) => [entryId(entry), entry]));
  const differs = entries.some((entry) => {
    const oldEntry = oldByOwner.get(entryId(entry));
    return !oldEntry || !equalValues(withoutTime(oldEntry), withoutTime(entry));
  });
  if (differs) return;
  if (equalValues(withoutBookkeeping(object), withoutBookkeeping(old))) object.metadata.managedFields = oldEntries;
}

const entryId = ({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string =>
  [manager, operation, apiVersion, subresource].join('\0');

const withoutTime = ({ time: _, ...entry }: ManagedFieldsEntry): ManagedFieldsEntry => entry;

function withoutBookkeeping({ metadata, ...object }: ApiObject): Readonly<Record<string, unknown>> {
  const { managedFields: _entries, resourceVersion: _version, ...rest } = metadata;
  return { ...object, metadata: rest };
}
