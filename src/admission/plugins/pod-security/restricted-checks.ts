import { type Volume, volumeSources } from '../../../kinds/core/pod/volumes/volume.ts';
import { detailOfAdded, isProfileAllowed, seccompProfile } from './baseline-checks.ts';
import {
  containersWith,
  namedContainers,
  namedSetters,
  type PodCheck,
  plural,
  quoted,
  settersOf,
  sorted,
} from './pod-check.ts';

/** Level `restricted`: current practice for hardened pods. */

/** Windows has nothing that the check could be about. */
export const exceptOnWindows =
  (check: PodCheck): PodCheck =>
  (pod) =>
    pod.spec.os?.name === 'windows' ? undefined : check(pod);

export const allowPrivilegeEscalation: PodCheck = (pod) => {
  const names = containersWith(pod, (context) => context.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${namedContainers(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

export const droppedCapabilities: PodCheck = (pod) => {
  const keeping = containersWith(pod, ({ capabilities }) => !capabilities?.drop?.includes('ALL'));
  const added = detailOfAdded(pod, (capability) => capability === 'NET_BIND_SERVICE');
  const details = [
    ...(keeping.length > 0 ? [`${namedContainers(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(added === undefined ? [] : [added]),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const allowedSources: ReadonlySet<string> = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

/** Sources that are named in findings; newer ones are `unknown`. */
const namedSources: ReadonlySet<string> = new Set(
  `hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc
  azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos`.split(/\s+/),
);

export const restrictedVolumes: PodCheck = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter((volume) => !volumeSources(volume).some((name) => allowedSources.has(name)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(sourceName));
  const names = bad.map(({ name }) => name);
  const uses = names.length === 1 ? 'uses' : 'use';
  const listed = `${plural('restricted volume type', types.length)} ${quoted(types)}`;
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', names.length)} ${quoted(names)} ${uses} ${listed}`,
  };
};

const sourceName = (volume: Volume): string =>
  volumeSources(volume).find((name) => namedSources.has(name)) ?? 'unknown';

export const runAsNonRoot: PodCheck = (pod) => {
  const reason = 'runAsNonRoot != true';
  const explicit = namedSetters(settersOf(pod, (context) => context.runAsNonRoot === false));
  if (explicit !== '') return { reason, detail: `${explicit} must not set securityContext.runAsNonRoot=false` };
  if (pod.spec.securityContext?.runAsNonRoot) return undefined;
  const implicit = containersWith(pod, (context) => context.runAsNonRoot === undefined);
  if (implicit.length === 0) return undefined;
  return { reason, detail: `pod or ${namedContainers(implicit)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: PodCheck = (pod) => {
  const named = namedSetters(
    settersOf(pod, (context) => context.runAsUser !== undefined && Number(context.runAsUser) === 0),
  );
  return named === '' ? undefined : { reason: 'runAsUser=0', detail: `${named} must not set runAsUser=0` };
};

export const requiredSeccompProfile: PodCheck = (pod) => {
  const forbidden = seccompProfile(pod);
  if (forbidden) return forbidden;
  const ofPod = pod.spec.securityContext?.seccompProfile;
  if (ofPod && isProfileAllowed(ofPod)) return undefined;
  const names = containersWith(pod, (context) => context.seccompProfile === undefined);
  if (names.length === 0) return undefined;
  const wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason: 'seccompProfile', detail: `pod or ${namedContainers(names)} must set ${wanted}` };
};
