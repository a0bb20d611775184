import type { ApiObject, ManagedFieldsEntry } from '../meta/api-object.ts';
import { badRequest } from '../meta/status-error.ts';
import { formatTime } from '../meta/time.ts';
import { equalValues } from '../schema/equal-values.ts';
import { isRecord } from '../schema/own-property.ts';
import type { StructSchema } from '../schema/schema.ts';
import { capUpdaters } from './cap-updaters.ts';
import { type ConfigurationProblem, readConfiguration } from './configuration.ts';
import { type Conflict, conflictsOf } from './conflict.ts';
import { type FieldSet, has, noFields } from './fields/field-set.ts';
import { objectShapeOf } from './fields/shape.ts';
import { type ClientSideApply, keepLastApplied, lastAppliedFields } from './last-applied.ts';
import { asksReset, decodeOwners, encodeOwners, ownKeyless } from './managed-fields.ts';
import { type Application, applyTo, ownersAfterUpdate } from './merge.ts';
import { newObject } from './new-object.ts';
import { noOwners, type Owners, type Writer } from './owners.ts';
import type { Write } from './take-over.ts';
import type { ConvertObject, VersionedObject } from './versions.ts';

/**
 * Server-side apply and managed fields (spec section 4.7, KEP-555) as pure functions of objects. Every write goes
 * through one of two functions: `updateManagedFields` for writes of the full state (create, update, patches),
 * `applyConfiguration` for applies.
 *
 * Field sets, order of entries, messages and rules are those of kube-apiserver, except where those are surprising:
 * - Applying a value that decoding drops (zero, null) agrees with its absence, so two appliers can apply it. In
 *   custom objects only fields with a default have such values: other nulls are for validation to refuse, as in kube-apiserver.
 * - A configuration is compared in its stored form: `1000m` is `1`, and atomic values have their defaults.
 * - Unknown fields of a configuration are reported to the caller and dropped, as in all other writes; kube-apiserver
 *   rejects them.
 * - Nobody owns `deletionTimestamp` or `deletionGracePeriodSeconds`; applied values for them are ignored.
 * - A container that loses its last field stays as an empty one if someone owns the container itself.
 * - The time of an entry changes whenever its manager changes the object or its own field set, including by removal;
 *   losing fields to others does not change it.
 */

/** The writer, and the endpoint it writes to. */
export interface WriteSource {
  readonly schema: StructSchema;
  /** apiVersion of the objects, in which the field paths are recorded: `v1`, `coordination.orch.io/v1`. */
  readonly apiVersion: string;
  /** The field manager; '' becomes `unknown`. */
  readonly manager: string;
  /** The subresource; '' for the object itself. */
  readonly subresource: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Fields that this endpoint never writes: no one comes to own them, or fields below them, through it. `status` for
   * objects with a status subresource, everything else for that subresource. Built with `fieldSetOfNames`, once.
   */
  readonly resetFields?: FieldSet;
  /**
   * Converts objects for entries in other versions. Without it, such entries are obsolete and dropped at the next
   * change.
   */
  readonly convert?: ConvertObject;
}

interface ObjectUpdate extends WriteSource {
  /** The stored object; undefined on create. Not modified. */
  readonly old: ApiObject | undefined;
  /** The object to store, decoded and defaulted, with the managedFields that the client sent. */
  readonly object: ApiObject;
}

/**
 * Sets `metadata.managedFields` of an object that is about to be stored. The writer becomes the only owner of the
 * fields it changes; fields set to their previous value keep their owners, and entries without changes keep their time.
 * Never fails.
 *
 * Managed fields sent by the client replace the stored ones, unless the list is empty, invalid, or sent to a subresource.
 * A list of one empty entry resets all owners before the write. Otherwise an update does not add owners to an object
 * that has none: tracking starts with its first apply. Nor has an object owners whose list elements lack a merge key.
 */
export function updateManagedFields(update: ObjectUpdate): void {
  const { old, object } = update;
  const entries = entriesAfterUpdate(update);
  // If the client sent the stored entries in another form, keep the stored form.
  if (entries === undefined || entries.length === 0) delete object.metadata.managedFields;
  else if (old?.metadata.managedFields && equalValues(entries, old.metadata.managedFields)) {
    object.metadata.managedFields = old.metadata.managedFields;
  } else object.metadata.managedFields = entries;
}

function entriesAfterUpdate(update: ObjectUpdate): ManagedFieldsEntry[] | undefined {
  const { old, object } = update;
  const known = knownOwners(update);
  if (known === undefined) return undefined;
  const write: Write = {
    old: versioned(update, old ?? newObject(update.schema, object)),
    now: versioned(update, object),
    excluded: update.resetFields ?? noFields,
    convert: update.convert,
  };
  const owners = ownersAfterUpdate(known, write, writerOf(update, 'Update'), timeOf(update));
  return ownKeyless(owners) ? undefined : encodeOwners(capUpdaters(owners));
}

/** The owners before the write; undefined if nobody's fields are tracked. */
function knownOwners({ old, object, subresource }: ObjectUpdate): Owners | undefined {
  const stored = old?.metadata.managedFields ?? [];
  const sent = object.metadata.managedFields ?? [];
  if (subresource === '' && sent.length > 0 && !equalValues(sent, stored)) {
    if (asksReset(sent)) return noOwners;
    // Entries without fields are those of nobody; tracking goes on.
    const owners = decodeOwners(sent, 'sent');
    if (owners) return owners;
  }
  const owners = storedOwners(stored);
  return old && owners.size === 0 ? undefined : owners;
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
  /** The stored object; undefined on create. Not modified. */
  readonly live: ApiObject | undefined;
  /** The parsed body, with the apiVersion and kind of the object. Not modified. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The body as it was sent, where name and namespace may be left to the path. Default: `config`. */
  readonly sent?: Readonly<Record<string, unknown>>;
  /** Take over fields that other managers own with another value. */
  readonly force: boolean;
  /** For objects that the same client managed with client-side apply before. */
  readonly clientSideApply?: ClientSideApply;
}

/** `unknown` lists fields of the configuration that the schema does not have: `spec.containers[0].nmae`. */
type Applied =
  | {
      readonly type: 'applied';
      /**
       * The object to store, with its managedFields. Must still be decoded (which also drops nulls), defaulted and
       * validated. Shares parts with the live object and the configuration: copy before modifying.
       */
      readonly object: Readonly<Record<string, unknown>>;
      /** False if this is the live object itself, so there is nothing to store. */
      readonly changed: boolean;
      readonly unknown: readonly string[];
    }
  | { readonly type: 'conflicts'; readonly conflicts: readonly Conflict[]; readonly unknown: readonly string[] };

/**
 * Applies a configuration to an object, or creates the object. On conflicts only the conflicts are returned, sorted;
 * see `applyConflict`. Throws BadRequest with the invalid fields of the configuration: wrong types, list elements
 * without keys or with duplicate keys, managedFields.
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
  if (isClient) object = keepLastApplied(object, request.sent ?? request.config, clientSideApply.annotation);
  const isSame = live !== undefined && object === live && merged.owners === application.known;
  return { type: 'applied', object: isSame ? object : withEntries(object, merged.owners), changed: !isSame, unknown };
}

interface ReadApplication extends Application {
  /** The stored owners. */
  readonly known: Owners;
  readonly unknown: readonly string[];
}

function readApplication(request: ConfigurationApply): ReadApplication {
  const { schema, live, resetFields: excluded = noFields, convert } = request;
  const { value: config, unknown, problems } = readConfiguration(objectShapeOf(schema), request.config);
  if (problems.length > 0) throw badRequest(describeProblems(request.sent ?? request.config, problems));
  const sentEntries = isRecord(request.config['metadata']) ? request.config['metadata']['managedFields'] : undefined;
  if (sentEntries !== undefined && sentEntries !== null) throw badRequest('metadata.managedFields must be nil');
  const known = storedOwners(live?.metadata.managedFields ?? []);
  const base = { live: versioned(request, live ?? emptyObject), excluded, convert };
  const owners = known.size === 0 && live ? ownersBeforeFirstApply(request, live, base) : known;
  const applier = writerOf(request, 'Apply');
  return { ...base, config, owners, applier, force: request.force, time: timeOf(request), known, unknown };
}

const emptyObject = { metadata: {} };

/** The manager of all fields that were written before ownership was tracked. */
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

/** `failed to create typed patch object (default/web; /v1, Kind=Pod): .spec.containers: ...`, as in kube-apiserver. */
function describeProblems(
  config: Readonly<Record<string, unknown>>,
  problems: readonly ConfigurationProblem[],
): string {
  const metadata = isRecord(config['metadata']) ? config['metadata'] : {};
  const lines = problems.map(({ path, problem }) => (path === '' ? problem : `${path}: ${problem}`));
  const text = lines.length === 1 ? lines[0] : `errors:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  const name = `${metadata['namespace'] ?? ''}/${metadata['name'] ?? ''}`;
  const { apiVersion, kind } = config;
  const version = String(apiVersion).includes('/') ? apiVersion : `/${apiVersion}`;
  return `failed to create typed patch object (${name}; ${version}, Kind=${kind}): ${text}`;
}

function withEntries(object: Readonly<Record<string, unknown>>, owners: Owners): Readonly<Record<string, unknown>> {
  const { managedFields: _, ...metadata } = object['metadata'] as ApiObject['metadata'];
  const entries = encodeOwners(owners);
  return { ...object, metadata: { ...metadata, ...(entries && { managedFields: entries }) } };
}

/**
 * Restores the stored managedFields if only their times differ, so that a write that is a no-op after defaulting and
 * admission creates no new revision. `object` is as it would be stored; its resourceVersion is ignored.
 */
export function keepTimesOfNoOp(object: ApiObject, old: ApiObject): void {
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
