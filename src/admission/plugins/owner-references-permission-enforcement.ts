import type { Caller } from '../../base/caller.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';
import type { ResourceName } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';

/** An authorization query. */
interface PermissionQuestion extends ResourceName {
  readonly verb: 'delete' | 'update';
  readonly version: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A resource that an owner reference may refer to. */
export interface OwnerResource extends ResourceName {
  readonly version: string;
  readonly namespaced: boolean;
}

interface OwnerReferencesOptions {
  readonly authorize: (
    question: PermissionQuestion,
    user: UserInfo,
    request: Caller,
  ) => Promise<PermissionAnswer> | PermissionAnswer;
  /** The resources of a kind in a version; empty if none is served. */
  readonly resourcesOf: (
    apiVersion: string,
    kind: string,
  ) => Promise<readonly OwnerResource[]> | readonly OwnerResource[];
}

interface PermissionAnswer {
  readonly allowed: boolean;
  /** For the client. May be ''. */
  readonly reason: string;
}

/**
 * An owner reference lets an object be deleted with its owner, so the user must be allowed to delete the object.
 * `blockOwnerDeletion` delays the deletion of the owner, so the user must be allowed to update the owner's finalizers.
 */
export function ownerReferencesPermissionEnforcement(options: OwnerReferencesOptions): AdmissionPlugin {
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    sideEffects: 'none',
    concerns: (attributes) => !isPodStatus(attributes) && changesOwners(attributes),
    async validate(attributes) {
      await requireDelete(attributes, options);
      for (const reference of newlyBlocking(attributes)) await requireFinalizers(attributes, reference, options);
    },
  };
}

/** A pod status update ignores owner references. */
const isPodStatus = ({ info: { group, resource, subresource } }: AdmissionAttributes): boolean =>
  group === '' && resource === 'pods' && subresource === 'status';

const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? [];

function changesOwners({ operation, object, old }: AdmissionAttributes): boolean {
  if (!object || operation === 'delete') return false;
  const [before, after] = [ownersOf(old), ownersOf(object)];
  return before.length !== after.length || after.some((reference, at) => !isSame(reference, before[at]));
}

const isSame = (a: OwnerReference, b: OwnerReference | undefined): boolean =>
  b !== undefined &&
  a.uid === b.uid &&
  a.name === b.name &&
  a.kind === b.kind &&
  a.apiVersion === b.apiVersion &&
  a.controller === b.controller &&
  a.blockOwnerDeletion === b.blockOwnerDeletion;

async function requireDelete(attributes: AdmissionAttributes, { authorize }: OwnerReferencesOptions): Promise<void> {
  const { info, name, user } = attributes;
  const { group, version, resource, subresource, namespace } = info;
  const question: PermissionQuestion = { verb: 'delete', group, version, resource, subresource, namespace, name };
  const answer = await authorize(question, user, attributes);
  if (answer.allowed) return;
  throw admissionForbidden(
    attributes,
    `cannot set an ownerRef on a resource you can't delete: ${answer.reason}, <nil>`,
  );
}

/** References that block owner deletion now and did not before. */
function newlyBlocking({ object, old }: AdmissionAttributes): readonly OwnerReference[] {
  const blocking = new Set(
    ownersOf(old)
      .filter(({ blockOwnerDeletion }) => blockOwnerDeletion)
      .map(({ uid }) => uid),
  );
  return ownersOf(object).filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !blocking.has(uid));
}

async function requireFinalizers(
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: OwnerReference,
  { authorize, resourcesOf }: OwnerReferencesOptions,
): Promise<void> {
  const resources = await resourcesOf(apiVersion, kind);
  if (resources.length === 0) {
    throw admissionForbidden(
      attributes,
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`,
    );
  }
  for (const { group, version, resource, namespaced } of resources) {
    // A namespaced owner is in the namespace of the object.
    const namespace = namespaced ? attributes.info.namespace : '';
    const answer = await authorize(
      { verb: 'update', group, version, resource, subresource: 'finalizers', namespace, name },
      attributes.user,
      attributes,
    );
    if (answer.allowed) continue;
    throw admissionForbidden(
      attributes,
      `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${answer.reason}, <nil>`,
    );
  }
}
