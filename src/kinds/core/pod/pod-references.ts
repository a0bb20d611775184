import type { Container } from './container/container.ts';
import type { EphemeralContainer } from './container/ephemeral-container.ts';
import type { Pod } from './pod-schema.ts';
import type { Volume } from './volumes/volume.ts';

/** Names of the objects in its namespace that a pod refers to, other than its service account. */
interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  /** PersistentVolumeClaims, including those created for its ephemeral volumes. */
  readonly volumeClaims: ReadonlySet<string>;
  /** ResourceClaims with known names: those created from a template appear in the status. */
  readonly resourceClaims: ReadonlySet<string>;
}

interface Found {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly volumeClaims: Set<string>;
  readonly resourceClaims: Set<string>;
}

/**
 * All objects that a pod refers to, which its kubelet must be able to read. Complete for Kubernetes 1.32: a volume source
 * missing here could not be mounted. Cheap, because it is called for every pod event. Absent and empty names are skipped.
 */
export function podReferences({ metadata, spec, status }: Pod): PodReferences {
  const found: Found = {
    secrets: new Set(),
    configMaps: new Set(),
    volumeClaims: new Set(),
    resourceClaims: new Set(),
  };
  for (const { name } of spec?.imagePullSecrets ?? []) add(found.secrets, name);
  for (const container of spec?.initContainers ?? []) addContainer(found, container);
  for (const container of spec?.containers ?? []) addContainer(found, container);
  for (const container of spec?.ephemeralContainers ?? []) addContainer(found, container);
  for (const volume of spec?.volumes ?? []) addVolume(found, volume, metadata?.name ?? '');
  for (const claim of spec?.resourceClaims ?? []) {
    if (claim.resourceClaimName !== undefined) add(found.resourceClaims, claim.resourceClaimName);
    else if (claim.resourceClaimTemplateName !== undefined) {
      add(
        found.resourceClaims,
        status?.resourceClaimStatuses?.find(({ name }) => name === claim.name)?.resourceClaimName,
      );
    }
  }
  return found;
}

function add(names: Set<string>, name: string | undefined): void {
  if (name) names.add(name);
}

function addContainer(found: Found, { env = [], envFrom = [] }: Container | EphemeralContainer): void {
  for (const { valueFrom } of env) {
    add(found.secrets, valueFrom?.secretKeyRef?.name);
    add(found.configMaps, valueFrom?.configMapKeyRef?.name);
  }
  for (const { secretRef, configMapRef } of envFrom) {
    add(found.secrets, secretRef?.name);
    add(found.configMaps, configMapRef?.name);
  }
}

function addVolume(found: Found, volume: Volume, podName: string): void {
  for (const name of secretsOfVolume(volume)) add(found.secrets, name);
  add(found.configMaps, volume.configMap?.name);
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add(found.secrets, secret?.name);
    add(found.configMaps, configMap?.name);
  }
  add(found.volumeClaims, volume.persistentVolumeClaim?.claimName);
  // The claim that is created for an ephemeral volume.
  if (volume.ephemeral) add(found.volumeClaims, `${podName}-${volume.name}`);
}

/** Each type of volume source has its own field for a secret; a volume has one source. */
const secretsOfVolume = (volume: Volume): readonly (string | undefined)[] => [
  volume.secret?.secretName,
  volume.azureFile?.secretName,
  volume.cephfs?.secretRef?.name,
  volume.cinder?.secretRef?.name,
  volume.csi?.nodePublishSecretRef?.name,
  volume.flexVolume?.secretRef?.name,
  volume.iscsi?.secretRef?.name,
  volume.rbd?.secretRef?.name,
  volume.scaleIO?.secretRef?.name,
  volume.storageos?.secretRef?.name,
];
