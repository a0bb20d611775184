import { parseTimestamp } from '../../cel/library/timestamp-text.ts';
import { CelMap, type CelValue, fromJson, KeyedMap } from '../../cel/value.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** Fields of metadata that `namespaceObject` has. */
const metadataFields = ['name', 'generateName', 'namespace', 'labels', 'annotations', 'deletionGracePeriodSeconds', 'generation', 'resourceVersion', 'finalizers'] as const;

const made = new WeakMap<ApiObject, CelMap>();

/**
 * The value of `namespaceObject`, of the type that expressions are compiled for. Made once for each object: requests in one namespace share it,
 * and few expressions look at it.
 */
export function namespaceValue(namespace: ApiObject): CelMap {
  const known = made.get(namespace);
  if (known) return known;
  const value = makeValue(namespace);
  made.set(namespace, value);
  return value;
}

function makeValue({ metadata, ...namespace }: ApiObject): CelMap {
  const { uid, creationTimestamp, deletionTimestamp } = metadata;
  const shown = new KeyedMap();
  for (const field of metadataFields) add(shown, field, metadata[field]);
  add(shown, 'UID', uid);
  addTime(shown, 'creationTimestamp', creationTimestamp);
  addTime(shown, 'deletionTimestamp', deletionTimestamp);
  const value = new KeyedMap();
  value.add('metadata', shown);
  add(value, 'spec', namespace['spec']);
  value.add('status', statusValue(fromJson(namespace['status'] ?? {})));
  return value;
}

function statusValue(status: CelValue): CelMap {
  const value = new KeyedMap();
  if (!(status instanceof CelMap)) return value;
  const [phase, conditions] = [status.get('phase'), status.get('conditions')];
  if (phase !== undefined) value.add('phase', phase);
  if (Array.isArray(conditions)) value.add('conditions', conditions.map(conditionValue));
  return value;
}

function conditionValue(condition: CelValue): CelValue {
  if (!(condition instanceof CelMap)) return condition;
  const value = new KeyedMap();
  for (const key of condition.keys()) {
    const field = condition.get(key) ?? null;
    if (key === 'lastTransitionTime') addTime(value, key, field);
    else value.add(key, field);
  }
  return value;
}

function add(map: KeyedMap, field: string, data: unknown): void {
  if (data !== undefined) map.add(field, fromJson(data));
}

function addTime(map: KeyedMap, field: string, time: unknown): void {
  if (typeof time === 'string') map.add(field, parseTimestamp(time));
}
