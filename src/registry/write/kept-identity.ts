import { decodeOwners } from '../../apply/managed-fields.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { badRequest } from '../../meta/status-error.ts';

/** What admission must not change: the identity of an object and its managed fields. */
type Identity = {
  readonly [Field in 'name' | 'namespace' | 'uid' | 'creationTimestamp' | 'managedFields']:
    | ObjectMeta[Field]
    | undefined;
};

export const identityOf = ({ metadata }: ApiObject): Identity => {
  const { name, namespace, uid, creationTimestamp, managedFields } = metadata;
  return { name, namespace, uid, creationTimestamp, managedFields };
};

interface KeptAs {
  readonly of: 'new' | 'stored';
  /** Whether another name is accepted: of a new object whose name no path says. */
  readonly mayRename?: boolean;
  readonly request: { warn(text: string): void };
}

/**
 * Restores the identity of an object that admission replaced. Omitted fields are put back; another namespace is rejected, and
 * another name where the path says it. Managed fields that cannot be decoded are replaced by the previous ones, with
 * kube-apiserver's warning. For updates, validation checks the rest.
 */
export function keepIdentity(
  { metadata }: ApiObject,
  identity: Identity,
  { of, mayRename = false, request }: KeptAs,
): void {
  const { name, namespace, uid, creationTimestamp, managedFields } = identity;
  if (of === 'new') {
    // The server sets these for a new object.
    Object.assign(metadata, {
      ...(uid !== undefined && { uid }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    });
    if (!mayRename) refuseOther('name', name, metadata.name ?? name);
  }
  // Objects outside namespaces have none, whatever a plugin says.
  if (namespace === undefined) delete metadata.namespace;
  else refuseOther('namespace', namespace, metadata.namespace ?? namespace);
  if (name !== undefined) metadata.name ??= name;
  if (namespace !== undefined) metadata.namespace ??= namespace;
  if (of === 'new') delete metadata.resourceVersion;
  if (decodeOwners(metadata.managedFields ?? [], 'sent')) return;
  request.warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests',
  );
  if (managedFields) metadata.managedFields = managedFields;
  else delete metadata.managedFields;
}

function refuseOther(field: 'name' | 'namespace', before: string | undefined, after: string | undefined): void {
  if (before === after) return;
  const texts = [after, before].map((text) => JSON.stringify(text ?? '')).join(', ');
  throw badRequest(`the ${field} of the provided object does not match the ${field} sent on the request (${texts})`);
}
