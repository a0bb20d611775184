import type { Dialect } from '../../dialect/dialect.ts';
import { isMirrorPod } from '../../kinds/core/pod/mirror-pod.ts';
import { podReferences } from '../../kinds/core/pod/pod-references.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ObjectName } from './vertex.ts';
import { type VolumeView, volumeSecrets } from './volume-secrets.ts';

/** Edges that an object adds to the graph. */
interface Entitlements {
  /** Node entitled to everything in `granted`; empty: none. */
  readonly node: string;
  readonly granted: readonly ObjectName[];
  /** Nodes entitled to `to` are entitled to `from`. */
  readonly followed: readonly { readonly from: ObjectName; readonly to: ObjectName }[];
}

/** A resource whose objects the graph is built from. */
interface GraphSource {
  /** Full name of the API group. */
  readonly group: string;
  readonly resource: GraphResource;
  /** Selectable field without which an object adds nothing, so that it need not be parsed. */
  readonly requiredField?: string;
}

export type GraphResource = 'pods' | 'persistentvolumes' | 'volumeattachments' | 'resourceslices';

/** The resources the graph is built from. Those that are not served add nothing. */
export const graphSources = (dialect: Dialect): readonly GraphSource[] => [
  { group: '', resource: 'pods', requiredField: 'spec.nodeName' },
  { group: '', resource: 'persistentvolumes' },
  { group: dialect.group('storage'), resource: 'volumeattachments' },
  { group: dialect.group('resource'), resource: 'resourceslices' },
];

type Reader = (object: ApiObject, own: ObjectName, dialect: Dialect) => Entitlements;

const nothing: Entitlements = { node: '', granted: [], followed: [] };

/** Extracts the edges of an object. Objects are decoded, so their types match their schemas. */
export const readers: Readonly<Record<GraphResource, Reader>> = {
  pods: ofPod,
  persistentvolumes: ofVolume,
  volumeattachments: (object, own) => ofNode((object as NodeNamed).spec?.nodeName, own),
  resourceslices: (object, own) => ofNode((object as NodeNamed).spec?.nodeName, own),
};

type NodeNamed = ApiObject & { readonly spec?: { readonly nodeName?: string } };

const ofNode = (node = '', own: ObjectName): Entitlements =>
  node === '' ? nothing : { node, granted: [own], followed: [] };

/** A node is entitled to its pods and to all objects they refer to in their namespace. */
function ofPod(object: ApiObject, own: ObjectName, dialect: Dialect): Entitlements {
  const pod = asPod(object);
  const node = pod.spec?.nodeName ?? '';
  if (node === '') return nothing;
  // Nodes create mirror pods themselves: references in one must grant nothing, even if admission let them pass.
  if (isMirrorPod(object, dialect)) return { node, granted: [own], followed: [] };
  const { namespace } = own;
  const { secrets, configMaps, volumeClaims, resourceClaims } = podReferences(pod);
  const granted: ObjectName[] = [own];
  const account = pod.spec?.serviceAccountName;
  if (account) granted.push({ resource: 'serviceaccounts', namespace, name: account });
  for (const name of secrets) granted.push({ resource: 'secrets', namespace, name });
  for (const name of configMaps) granted.push({ resource: 'configmaps', namespace, name });
  for (const name of volumeClaims) granted.push({ resource: 'persistentvolumeclaims', namespace, name });
  for (const name of resourceClaims) granted.push({ resource: 'resourceclaims', namespace, name });
  return { node, granted, followed: [] };
}

/** Nodes entitled to the bound claim are entitled to the volume, and through it to the secrets it is mounted with. */
function ofVolume(object: ApiObject, own: ObjectName): Entitlements {
  const spec = (object as ApiObject & { readonly spec?: VolumeView }).spec ?? {};
  const claim = spec.claimRef;
  if (!claim?.name) return nothing;
  const to: ObjectName = {
    resource: 'persistentvolumeclaims',
    namespace: claim.namespace ?? '',
    name: claim.name,
  };
  const secrets = volumeSecrets(spec).map((secret) => ({ from: { resource: 'secrets', ...secret }, to: own }));
  return { node: '', granted: [], followed: [{ from: own, to }, ...secrets] };
}
