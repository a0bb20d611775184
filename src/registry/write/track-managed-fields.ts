import { updateManagedFields, type WriteSource } from '../../apply/apply.ts';
import { type FieldSet, fieldSetOfNames, noFields } from '../../apply/fields/field-set.ts';
import type { ConvertObject } from '../../apply/versions.ts';
import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Kind } from '../../kinds/kind.ts';
import { managerBytesMax, unprintable } from '../../kinds/meta/managed-fields-validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { WriteContext } from './object-writer.ts';
import { withConversions } from './with-conversions.ts';

/**
 * The product name in a `User-Agent`: `client/v1.2 (linux)` is `client`. Truncated to the maximum length of a manager,
 * on a character boundary.
 */
export function clientName(userAgent: string): string {
  let name = '';
  for (const character of userAgent.split('/', 1)[0] ?? '') {
    if (unprintable.test(character)) continue;
    if (Buffer.byteLength(name + character) > managerBytesMax) break;
    name += character;
  }
  return name;
}

/** The write of a context as a source for managed fields. */
export const writeSource = (
  {
    served,
    info,
    manager,
  }: Pick<WriteContext, 'manager'> & {
    readonly served: Pick<WriteContext['served'], 'kind' | 'apiVersion'>;
    readonly info: Pick<WriteContext['info'], 'subresource'>;
  },
  nowMs: number,
  convert: ConvertObject | undefined,
): WriteSource => ({
  schema: served.kind.schema,
  apiVersion: served.apiVersion,
  ...(convert && { convert }),
  manager,
  subresource: info.subresource,
  nowMs,
  resetFields: resetFieldsOf(served.kind, info.subresource),
});

/**
 * Records the managed fields, with paths in the client's version, when only the client and defaulting have touched the
 * object. A promise only where somebody else converts; what is owned in a version that nobody can convert to now stays owned.
 */
export function trackManagedFields(
  context: WriteContext,
  object: ApiObject,
  old: ApiObject | undefined,
  nowMs: number,
): void | Promise<void> {
  const { served, request } = context;
  const written = served.fromWritten(object);
  const before = old && served.fromWritten(old);
  return withConversions(served, request, 'isGone', (convert) => {
    updateManagedFields({ ...writeSource(context, nowMs, convert), object: written, old: before });
    if (written === object) return;
    const { managedFields } = written.metadata;
    if (managedFields) object.metadata.managedFields = managedFields;
    else delete object.metadata.managedFields;
  });
}

const resetFields = new WeakMap<Kind, Map<string, FieldSet>>();

/** Fields that an endpoint does not write; by default the main one writes no status, and the status one nothing else. */
function resetFieldsOf(kind: Kind, subresource: string): FieldSet {
  const bySubresource = getOrAdd(resetFields, kind, () => new Map<string, FieldSet>());
  return getOrAdd(bySubresource, subresource, () => makeResetFields(kind, subresource));
}

function makeResetFields(kind: Kind, subresource: string): FieldSet {
  const view = kind.subresources.find(({ name }) => name === subresource);
  if (view?.type === 'view' && view.resetFields) return fieldSetOfNames(...view.resetFields);
  if (view?.type === 'view' && view.fields) return allBut(kind, ['apiVersion', 'kind', ...view.fields]);
  if (!kind.subresources.some(({ name }) => name === 'status')) return noFields;
  if (subresource !== 'status') return fieldSetOfNames(['status']);
  return allBut(kind, ['apiVersion', 'kind', 'metadata', 'status']);
}

const allBut = ({ schema }: Kind, names: readonly string[]): FieldSet =>
  fieldSetOfNames(...Object.keys(schema.fields).flatMap((name) => (names.includes(name) ? [] : [[name]])));
