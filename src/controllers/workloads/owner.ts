import { resourcePath } from '../../client/resource-path.ts';
import type { Indexer } from '../../client/shared-informers.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';

/** A kind as controllers speak of it. */
export interface ObjectKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Plural name: `replicasets`. */
  readonly resource: string;
}

export const podKind: ObjectKind = { apiVersion: 'v1', kind: 'Pod', resource: 'pods' };

/** Path of an object, or of its subresource. */
export const pathOf = ({ apiVersion, resource }: ObjectKind, { metadata }: ApiObject, subresource?: string): string =>
  resourcePath({
    ...{ apiVersion, resource, namespace: metadata.namespace, name: metadata.name },
    ...(subresource !== undefined && { subresource }),
  });

/** Path of a collection: of one namespace, or of all. */
export const collectionOf = ({ apiVersion, resource }: ObjectKind, namespace?: string): string =>
  resourcePath({ apiVersion, resource, namespace });

/** The object as an event is about it. */
export const aboutOf = ({ apiVersion, kind }: ObjectKind, { metadata: { namespace, name = '', uid } }: ApiObject) => ({
  ...{ apiVersion, kind, namespace, name, uid },
});

/** The reference of an object to its controller. An object has one at most. */
export const controllerOf = ({ metadata }: ApiObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** The reference by which an object says that this one is its controller. */
export const controllerReference = ({ apiVersion, kind }: ObjectKind, { metadata }: ApiObject): OwnerReference => ({
  ...{ apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '' },
  ...{ controller: true, blockOwnerDeletion: true },
});

/** Finds objects by the UID of their controller, and those without one by `orphansIn` of their namespace. */
export const byController: Indexer = (object) =>
  controllerOf(object)?.uid ?? orphansIn(object.metadata.namespace ?? '');

export const orphansIn = (namespace: string): string => `orphans/${namespace}`;

export const byNamespace: Indexer = ({ metadata: { namespace = '' } }) => namespace;
