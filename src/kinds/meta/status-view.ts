import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import { always, opt, type StructSchema, schemaOf, string, struct, time } from '../../schema/schema.ts';
import type { Strategy, ViewSubresource } from '../kind.ts';

/** Parts of the kinds whose status a controller writes, through a subresource that changes nothing else but metadata. */

/** The subresource `status` of a kind that keeps its spec there. */
export const statusView = (validateUpdate?: ViewSubresource['validateUpdate']): ViewSubresource => ({
  type: 'view',
  name: 'status',
  verbs: ['get', 'update', 'patch'],
  prepareForUpdate: keepSpec,
  ...(validateUpdate && { validateUpdate }),
});

export function keepSpec(object: ApiObject, old: ApiObject): void {
  object['spec'] = cloneJson(old['spec']);
}

/** For statuses whose writers change no metadata by the way. */
export function keepMetadata(object: ApiObject, { metadata }: ApiObject): void {
  const { resourceVersion, managedFields } = object.metadata;
  object.metadata = { ...cloneJson(metadata), ...(resourceVersion !== undefined && { resourceVersion }), ...(managedFields && { managedFields }) };
}

/** Clears the status of a new object: what is left are the fields that are always written. */
export const clearStatus =
  (schema: StructSchema): NonNullable<Strategy['prepareForCreate']> =>
  (object) => {
    const status = schema.fields['status'];
    if (status) object['status'] = decode(schemaOf(status) as StructSchema, {}).value;
  };

/** The condition of a kind that has no times but that of the last transition. `name` is that of the kind. */
export const kindCondition = (name: string) =>
  struct(`${name}Condition`, 'One aspect of the state of an object.', {
    type: always(1, string(), 'Name of the aspect.'),
    status: always(2, string(), '`True`, `False` or `Unknown`.'),
    lastTransitionTime: always(3, time(), 'When the status last changed.'),
    reason: opt(4, string(), 'Machine-readable reason of the last change.'),
    message: opt(5, string(), 'The reason in words.'),
  });

/** The status of an object, as names and values. */
const statusOf = (object: ApiObject): Readonly<Record<string, unknown>> => (isRecord(object['status']) ? object['status'] : {});

const countOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Counts in a status of which one is part of the other: the part, the whole, and the words for the whole in the error. */
type CountPart = readonly [part: string, whole: string, shown: string];

export const validateCountParts = (object: ApiObject, parts: readonly CountPart[]): FieldError[] => {
  const status = statusOf(object);
  return parts.flatMap(([part, whole, shown]) => (countOf(status[part]) > countOf(status[whole]) ? [invalid(`status.${part}`, countOf(status[part]), `cannot be greater than ${shown}`)] : []));
};

/** The collisions of names that a controller has seen only get more. */
export function validateCollisionCount(object: ApiObject, old: ApiObject): FieldError[] {
  const [{ collisionCount: next }, { collisionCount: last }] = [statusOf(object), statusOf(old)];
  if (last === undefined || (next !== undefined && countOf(next) >= countOf(last))) return [];
  return [invalid('status.collisionCount', countOf(next), 'cannot be decremented')];
}
