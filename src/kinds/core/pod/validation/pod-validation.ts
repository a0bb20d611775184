import { limits } from '../../../../base/limits.ts';
import type { Dialect } from '../../../../dialect/dialect.ts';
import type { ApiObject } from '../../../../meta/api-object.ts';
import {
  boundedCount,
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
} from '../../../../meta/field-error.ts';
import { isQualifiedName } from '../../../../meta/formats.ts';
import { validateLabels } from '../../../meta/metadata-validation.ts';
import { asPod } from '../pod-schema.ts';
import type { PodSpec } from '../pod-spec.ts';
import { type Volume, volumeSources } from '../volumes/volume.ts';
import { validateAffinity, validateTopologySpread } from './affinity-validation.ts';
import { validatePodAnnotations } from './annotation-validation.ts';
import { validateContainers, validateEphemeralContainers, validateInitContainers } from './container-validation.ts';
import { validateDns } from './dns-validation.ts';
import { failing } from './field-checks.ts';
import { validateOs } from './os-validation.ts';
import { validateHostNetworkPorts } from './port-validation.ts';
import { validateAmounts } from './resources-validation.ts';
import { validateHostUsers, validatePodSecurity } from './security-validation.ts';
import { validateTolerations } from './toleration-validation.ts';
import { validateImageVolumes, validateVolumes } from './volume-validation.ts';
import { validateHostProcess } from './windows-validation.ts';

const path = 'spec';

/** Additional rules on create: no ephemeral containers, and no nodeName while there are scheduling gates. */
export function validatePodCreate(object: ApiObject, dialect: Dialect): readonly FieldError[] {
  const { spec = { containers: [] } } = asPod(object);
  const { nodeName, schedulingGates = [], ephemeralContainers = [] } = spec;
  const counts = validateCounts(spec);
  if (counts.length > 0) return counts;
  return [
    ...validatePodAnnotations(object.metadata.annotations ?? {}, spec, { path: 'metadata.annotations', dialect }),
    ...validatePodSpec(object, dialect),
    ...(ephemeralContainers.length > 0 ? [forbidden(`${path}.ephemeralContainers`, 'cannot be set on create')] : []),
    ...(nodeName !== undefined && schedulingGates.length > 0
      ? [forbidden(`${path}.nodeName`, 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ];
}

/** Bounds of the number of parts, which are checked before the parts. */
export const validateCounts = (spec: PodSpec): FieldError[] => [
  ...boundedCount(
    `${path}.containers`,
    (spec.containers ?? []).length + (spec.initContainers ?? []).length,
    limits.podContainersMax,
  ),
  ...boundedCount(`${path}.volumes`, (spec.volumes ?? []).length, limits.podVolumesMax),
  ...boundedCount(path, partsOf(spec), limits.podPartsMax),
];

/** Number of structured list elements at any depth, bounded because the node graph reads every bound pod. */
function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let parts = 0;
  for (const each of Object.values(value)) {
    parts += partsOf(each) + (Array.isArray(value) && typeof each === 'object' ? 1 : 0);
  }
  return parts;
}

/**
 * Rules across fields of a pod's spec, on create and update. Schema validation checks required fields, enums, formats and
 * ranges. `within`: some values of a template may come with the pods.
 */
export function validatePodSpec(
  object: ApiObject,
  dialect: Dialect,
  within: 'pod' | 'template' = 'pod',
): readonly FieldError[] {
  const { spec = { containers: [] } } = asPod(object);
  const { volumes = [], containers = [], initContainers = [], ephemeralContainers = [], resourceClaims = [] } = spec;
  const ofVolumes = validateVolumes(volumes, `${path}.volumes`, object.metadata.name ?? '');
  const scope = {
    spec,
    domain: dialect.domain,
    volumes: new Map(soundVolumes(volumes, ofVolumes).map((volume) => [volume.name ?? '', volume])),
    claims: new Set(resourceClaims.map(({ name }) => name)),
  };
  return [
    ...ofVolumes,
    ...(within === 'pod' ? validateImageVolumes(volumes, `${path}.volumes`) : []),
    ...validateResourceClaims(spec),
    ...validateContainers(containers, `${path}.containers`, scope),
    ...validateInitContainers(initContainers, `${path}.initContainers`, scope),
    ...validateEphemeralContainers(ephemeralContainers, `${path}.ephemeralContainers`, scope),
    ...(spec.hostNetwork ? validateHostNetworkPorts(containers, `${path}.containers`, within) : []),
    ...validateLabels(spec.nodeSelector ?? {}, `${path}.nodeSelector`),
    ...validatePodSecurity(spec, `${path}.securityContext`),
    ...(spec.affinity ? validateAffinity(spec.affinity, `${path}.affinity`) : []),
    ...validateDns(spec, `${path}.dnsConfig`),
    ...validateGates(spec.schedulingGates ?? [], `${path}.schedulingGates`),
    ...validateTopologySpread(spec.topologySpreadConstraints ?? [], `${path}.topologySpreadConstraints`),
    ...validateHostProcess(spec, path),
    ...validateHostUsers(spec, path),
    ...validateTolerations(spec.tolerations ?? [], `${path}.tolerations`),
    ...validateAmounts(spec.overhead ?? {}, `${path}.overhead.limits`, dialect.domain),
    ...validateOs(spec, path),
    ...(within === 'pod' ? validateTokenVolumes(spec) : []),
  ];
}

/** Volumes with errors are not there for those who mount them. */
function soundVolumes(volumes: readonly Volume[], errors: readonly FieldError[]): readonly Volume[] {
  return volumes.filter(
    (volume, index) =>
      volumeSources(volume).length === 1 && !errors.some(({ field }) => field.startsWith(`${path}.volumes[${index}]`)),
  );
}

/** Errors name the gate, not its name. */
function validateGates(gates: NonNullable<PodSpec['schedulingGates']>, path: string): FieldError[] {
  const names = new Set<string>();
  return errorsOfEach(gates, ({ name = '' }, index) => {
    const at = `${path}[${index}]`;
    const repeated = names.has(name);
    names.add(name);
    return [...failing(isQualifiedName, at, name), ...(repeated ? [duplicate(at, name)] : [])];
  });
}

function validateResourceClaims({ resourceClaims = [] }: PodSpec): FieldError[] {
  return errorsOfEach(resourceClaims, (claim, index) => {
    const at = `${path}.resourceClaims[${index}]`;
    const { resourceClaimName, resourceClaimTemplateName } = claim;
    const given = [resourceClaimName, resourceClaimTemplateName].filter((each) => each !== undefined).length;
    if (given > 1) {
      const rule = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      return [invalid(at, claim, rule)];
    }
    return given === 1
      ? []
      : [invalid(at, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`')];
  });
}

/** Projected service account tokens require a serviceAccountName. */
function validateTokenVolumes({ serviceAccountName, volumes = [] }: PodSpec): FieldError[] {
  if (serviceAccountName !== undefined) return [];
  return errorsOfEach(volumes, ({ projected }, volume) =>
    errorsOfEach(projected?.sources ?? [], ({ serviceAccountToken }, source) =>
      serviceAccountToken
        ? [
            forbidden(
              `${path}.volumes[${volume}].projected.sources[${source}].serviceAccountToken`,
              'must not be specified when serviceAccountName is not set',
            ),
          ]
        : [],
    ),
  );
}
