import { isMirrorPod, mirrorAnnotation } from '../../../kinds/core/pod/mirror-pod.ts';
import { podReferences } from '../../../kinds/core/pod/pod-references.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { notFound, type StatusError } from '../../../meta/status-error.ts';
import { sameContent } from '../same-content.ts';
import { type Check, incomplete, type NodeWrite, operationText, quote, refused } from './node-write.ts';

/** A kubelet creates and deletes mirror pods, reports the status of its pods, and evicts them. */
export const checkPod: Check = (write) => {
  const { subresource } = write.attributes.info;
  switch (subresource) {
    case '':
      return checkMain(write);
    case 'status':
      return checkStatus(write);
    case 'eviction':
      return checkEviction(write);
    default:
      throw refused(
        write,
        `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`,
      );
  }
};

const checkMain: Check = (write) => {
  switch (write.operation) {
    case 'create':
      return checkCreate(write);
    case 'delete':
      return checkDelete(write);
    default:
      throw refused(
        write,
        `unexpected operation ${quote(operationText(write))}, node ${quote(write.node)} can only create and delete mirror pods`,
      );
  }
};

const nodeOf = (pod: ApiObject): string => asPod(pod).spec?.nodeName ?? '';

const checkDelete: Check = (write) => {
  const { old } = write.attributes;
  if (!old) throw incomplete(write);
  if (nodeOf(old) === write.node) return;
  throw refused(write, `node ${quote(write.node)} can only delete pods with spec.nodeName set to itself`);
};

async function checkCreate(write: NodeWrite): Promise<void> {
  const { attributes, node, options } = write;
  const { object } = attributes;
  if (!object) throw incomplete(write);
  if (!isMirrorPod(object, options.dialect)) {
    throw refused(
      write,
      `pod does not have ${quote(mirrorAnnotation(options.dialect))} annotation, node ${quote(node)} can only create mirror pods`,
    );
  }
  if (nodeOf(object) !== node) {
    throw refused(write, `node ${quote(node)} can only create pods with spec.nodeName set to itself`);
  }
  await requireOwner(write, object);
  const referred = referredTo(asPod(object));
  if (referred) throw refused(write, `node ${quote(node)} can not create pods that reference ${referred}`);
}

/** A mirror pod must be owned by its Node only, and must not block the Node's deletion. */
async function requireOwner(write: NodeWrite, { metadata }: ApiObject): Promise<void> {
  const { node, options } = write;
  const refuse = (why: string): StatusError => refused(write, `node ${quote(node)} ${why}`);
  const [owner, ...others] = metadata.ownerReferences ?? [];
  if (others.length > 0) throw refuse('can only create pods with a single owner reference set to itself');
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw refuse('can only create pods with an owner reference set to itself');
  }
  if (!owner.controller) throw refuse('can only create pods with a controller owner reference set to itself');
  if (owner.blockOwnerDeletion) throw refuse('must not set blockOwnerDeletion on an owner reference');
  const found = await options.node(node);
  if (!found) throw notFound({ group: '', resource: 'node' }, node);
  const uid = found.metadata.uid ?? '';
  if (owner.uid !== uid) throw refused(write, `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
}

/**
 * The first kind of object that the pod references, if any: a reference would give the node access to that object.
 * Includes resource claims, also those in the status (CVE-2025-4563).
 */
function referredTo(pod: Pod): string | undefined {
  const { spec, status } = pod;
  if (spec?.serviceAccountName) return 'a service account';
  const { secrets, configMaps } = podReferences(pod);
  if (secrets.size > 0) return 'secrets';
  if (configMaps.size > 0) return 'configmaps';
  const volumes = spec?.volumes ?? [];
  if (volumes.some(({ projected }) => projected?.sources?.some((each) => each.clusterTrustBundle))) {
    return 'clustertrustbundles';
  }
  if (volumes.some(({ persistentVolumeClaim }) => persistentVolumeClaim)) return 'persistentvolumeclaims';
  if (spec?.resourceClaims?.length || status?.resourceClaimStatuses?.length) return 'resourceclaims';
  return undefined;
}

const checkStatus: Check = (write) => {
  const { attributes, node, operation } = write;
  const { object, old } = attributes;
  if (operation !== 'update') throw refused(write, `unexpected operation ${quote(operationText(write))}`);
  if (!object || !old) throw incomplete(write);
  if (nodeOf(old) !== node) {
    throw refused(write, `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!sameLabels(old, object)) throw refused(write, `node ${quote(node)} cannot update labels through pod status`);
  if (!sameClaims(asPod(old), asPod(object))) {
    throw refused(write, `node ${quote(node)} cannot update resource claim statues`);
  }
};

/** An empty label value differs from an absent label. */
function sameLabels(a: ApiObject, b: ApiObject): boolean {
  const [before, after] = [Object.entries(a.metadata.labels ?? {}), new Map(Object.entries(b.metadata.labels ?? {}))];
  return before.length === after.size && before.every(([key, value]) => after.get(key) === value);
}

/** The claims generated for a pod determine which claims its node may access. */
const sameClaims = ({ status: a }: Pod, { status: b }: Pod): boolean =>
  sameContent(a?.resourceClaimStatuses, b?.resourceClaimStatuses);

async function checkEviction(write: NodeWrite): Promise<void> {
  const { attributes, node, operation, options } = write;
  const { info, object } = attributes;
  if (operation !== 'create') throw refused(write, `unexpected operation ${operationText(write)}`);
  const name = attributes.name || object?.metadata?.name;
  if (!name) throw refused(write, 'could not determine pod from request data');
  const pod = await options.pod(info.namespace, name);
  if (!pod) throw notFound({ group: '', resource: 'pod' }, name);
  if (nodeOf(pod) !== node) {
    throw refused(write, `node ${node} can only evict pods with spec.nodeName set to itself`);
  }
}
