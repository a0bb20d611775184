import { limits } from '../../base/limits.ts';
import { nameSuffix, nameSuffixLength, type Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { decodeValue } from '../../schema/decode.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { setOwn } from '../../schema/own-property.ts';
import { schemaOf } from '../../schema/schema.ts';

/** Sets the server-set fields of a new object (spec section 2.1), including a generated name. */
export function setNewMetadata(
  { metadata }: ApiObject,
  { nameIfNone }: Pick<Kind, 'nameIfNone'>,
  { clock, random }: { readonly clock: Pick<Clock, 'now'>; readonly random: Random },
): void {
  if (metadata.name === undefined && metadata.generateName !== undefined) {
    metadata.name = `${metadata.generateName.slice(0, limits.labelLengthMax - nameSuffixLength)}${nameSuffix(random)}`;
  }
  if (nameIfNone !== undefined) metadata.name ??= random.uuid();
  metadata.uid = random.uuid();
  metadata.creationTimestamp = formatTime(clock.now());
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.resourceVersion;
}

/** Sets the generation of a new object, whatever the client sent. */
export function startGeneration({ generation }: Kind, { metadata }: ApiObject): void {
  if (generation) metadata.generation = 1;
  else delete metadata.generation;
}

/** Clears the server-set fields of an object that is not stored, or not yet. It has no creation time. */
export function clearServerMetadata({ metadata }: ApiObject): void {
  delete metadata.uid;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  // The schema writes it as null.
  Object.assign(metadata, { creationTimestamp: null });
}

/**
 * Restores the fields that an update cannot change. An omitted `uid`, deletionTimestamp or deletionGracePeriodSeconds
 * is kept; validation later rejects changes of them.
 */
export function keepServerMetadata({ metadata }: ApiObject, { metadata: old }: ApiObject): void {
  metadata.uid ??= old.uid ?? '';
  keep(metadata, old, 'creationTimestamp');
  keep(metadata, old, 'generation');
  if (old.deletionTimestamp !== undefined) keep(metadata, old, 'deletionTimestamp');
  if (old.deletionGracePeriodSeconds !== undefined) keep(metadata, old, 'deletionGracePeriodSeconds');
  delete metadata.selfLink;
}

function keep<K extends keyof ObjectMeta>(metadata: ObjectMeta, old: ObjectMeta, field: K): void {
  const value = old[field];
  if (value === undefined) delete metadata[field];
  else metadata[field] = value;
}

/** Removes from a new object what only its subresources write. Their defaults come back. */
export function dropSubresourceFields({ subresources, schema }: Kind, object: ApiObject): void {
  for (const subresource of subresources) {
    if (subresource.type !== 'view' || !subresource.fields) continue;
    for (const name of subresource.fields) clearField(schema, object, name);
    if (subresource.fields.some((name) => schema.fields[name]?.default !== undefined)) applyDefaults(schema, object);
  }
}

/** Removes a field. One that is always written becomes empty. */
function clearField({ fields }: Kind['schema'], object: ApiObject, name: string): void {
  const field = fields[name];
  if (field?.presence === 'always') object[name] = decodeValue(schemaOf(field), {}).value;
  else delete object[name];
}

/** Restores all but these fields, the managed ones and the resourceVersion, in place. */
export function keepAllBut(fields: readonly string[], object: ApiObject, old: ApiObject): void {
  const { managedFields, resourceVersion } = object.metadata;
  const written = Object.entries(object).filter(([name]) => fields.includes(name));
  for (const name of Object.keys(object)) delete object[name];
  for (const [name, value] of Object.entries(old)) if (!fields.includes(name)) setOwn(object, name, cloneJson(value));
  for (const [name, value] of written) setOwn(object, name, value);
  if (resourceVersion) object.metadata.resourceVersion = resourceVersion;
  else delete object.metadata.resourceVersion;
  if (managedFields) object.metadata.managedFields = managedFields;
  else delete object.metadata.managedFields;
}

/** Restores the status of kinds with a status subresource. */
export function keepStatus(kind: Kind, object: ApiObject, old: ApiObject): void {
  if (!hasStatusView(kind)) return;
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = cloneJson(old['status']);
}

/**
 * `generation` counts changes of the desired state: of all but metadata, and a status that has its own endpoint. What it counts
 * of the metadata besides, it counts in writes of the object itself alone: controllers note things there with the status.
 */
export function countGeneration(kind: Kind, object: ApiObject, old: ApiObject, isMain: boolean): void {
  if (!kind.generation) return;
  const { generationCounts: also } = kind;
  const sameMetadata =
    !isMain || also === undefined || equalValues(object.metadata[also] ?? {}, old.metadata[also] ?? {});
  if (sameMetadata && equalValues(desiredStateOf(kind, object), desiredStateOf(kind, old))) return;
  object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function desiredStateOf(kind: Kind, object: ApiObject): Readonly<Record<string, unknown>> {
  const { metadata: _metadata, ...desired } = object;
  if (hasStatusView(kind)) delete desired['status'];
  return desired;
}

const hasStatusView = ({ subresources }: Kind): boolean => subresources.some(({ name }) => name === 'status');
