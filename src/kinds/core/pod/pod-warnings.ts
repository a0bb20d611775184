import { isDnsLabel } from '../../../meta/formats.ts';
import { parseQuantity } from '../../../meta/quantity.ts';
import type { Affinity } from './affinity.ts';
import type { Container } from './container/container.ts';
import { overlappingPaths } from './overlapping-paths.ts';
import type { PodSpec } from './pod-spec.ts';

/** Warnings about what is valid but may not have the intended effect, of pods and of what makes pods. */

/** Objects after which pods are named: their hostnames are longer than any DNS label if the names are not one. */
export function nameWarnings(name: string, usedIn: string): readonly string[] {
  const problems = isDnsLabel(name);
  const rule = 'which can result in surprising behavior; a DNS label is recommended';
  return problems.length > 0 ? [`metadata.name: this is used in ${usedIn}, ${rule}: [${problems.join(' ')}]`] : [];
}

/** Warnings about a pod's spec; `path` is its place: `spec.template.spec`. */
export const podSpecWarnings = (spec: PodSpec, path: string): readonly string[] => [
  ...(spec.topologySpreadConstraints ?? []).flatMap(({ labelSelector }, index) => selectsNone(labelSelector, `${path}.topologySpreadConstraints[${index}]`)),
  ...volumeWarnings(spec, path),
  ...overlappingPaths(spec.volumes ?? []),
  ...repeated(
    (spec.hostAliases ?? []).map(({ ip }) => ip),
    (value, index) => `${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(value)}`,
  ),
  ...repeated(
    (spec.imagePullSecrets ?? []).map(({ name = '' }) => name),
    (value, index) => `${path}.imagePullSecrets[${index}].name: duplicate name ${JSON.stringify(value)}`,
  ),
  ...(spec.imagePullSecrets ?? []).flatMap(({ name }, index) => (name ? [] : [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`])),
  ...fractionalBytes(spec.overhead, `${path}.overhead`),
  ...(['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) => (spec[list] ?? []).flatMap((container, index) => containerWarnings(container, `${path}.${list}[${index}]`))),
  ...((spec.terminationGracePeriodSeconds ?? 0) < 0 ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`] : []),
  ...(['podAffinity', 'podAntiAffinity'] as const).flatMap((name) => affinityWarnings(spec.affinity?.[name], `${path}.affinity.${name}`)),
];

/** Volume sources that are on their way out, and since when. */
export const agingSources = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
} as const;

/** Published under another name than the field's. */
export const shownAs: Readonly<Record<string, string>> = { storageos: 'storageOS' };

const volumeWarnings = ({ volumes = [] }: PodSpec, path: string): readonly string[] =>
  volumes.flatMap((volume, index) =>
    (Object.keys(agingSources) as (keyof typeof agingSources)[])
      .filter((source) => volume[source] !== undefined)
      .map((source) => `${path}.volumes[${index}].${shownAs[source] ?? source}: ${agingSources[source]}`),
  );

const containerWarnings = ({ env = [], resources = {} }: Pick<Container, 'env' | 'resources'>, path: string): readonly string[] => [
  ...fractionalBytes(resources.limits, `${path}.resources.limits`),
  ...fractionalBytes(resources.requests, `${path}.resources.requests`),
  ...repeated(
    env.map(({ name }) => name),
    (name, index) => (extendsFormer(env[index]) ? undefined : `${path}.env[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`),
  ),
];

/** A value may contain the former one, as `$(NAME)`; one that is nothing else refers to itself. */
function extendsFormer(variable: NonNullable<Container['env']>[number] | undefined): boolean {
  const { name = '', value = '', valueFrom } = variable ?? {};
  const reference = `$(${name})`;
  return valueFrom === undefined && value !== reference && value.includes(reference);
}

const countedInBytes = ['memory', 'ephemeral-storage'];

export const fractionalBytes = (resources: Readonly<Record<string, string>> = {}, path: string, names: readonly string[] = countedInBytes): readonly string[] =>
  names.flatMap((name) => {
    const text = Object.hasOwn(resources, name) ? resources[name] : undefined;
    const quantity = text === undefined ? undefined : parseQuantity(text);
    return quantity && quantity.nanos % 1_000_000_000n !== 0n ? [`${path}[${name}]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`] : [];
  });

type PodAffinity = Affinity['podAffinity'];

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';

const affinityWarnings = (affinity: PodAffinity, path: string): readonly string[] => [
  ...(affinity?.[hard] ?? []).flatMap(({ labelSelector }, index) => selectsNone(labelSelector, `${path}.${hard}[${index}]`)),
  ...(affinity?.[soft] ?? []).flatMap(({ podAffinityTerm }, index) => selectsNone(podAffinityTerm?.labelSelector, `${path}.${soft}[${index}].podAffinityTerm`)),
];

const selectsNone = (selector: unknown, path: string): readonly string[] => (selector === undefined ? [`${path}.labelSelector: a null labelSelector results in matching no pod`] : []);

/** What `warn` says of each value that stood before. */
function repeated(values: readonly string[], warn: (value: string, index: number) => string | undefined): readonly string[] {
  const seen = new Set<string>();
  return values.flatMap((value, index) => {
    if (seen.has(value)) return warn(value, index) ?? [];
    seen.add(value);
    return [];
  });
}
