import { limits } from '../../../base/limits.ts';
import { deprecatedNodeLabel } from '../../../dialect/deprecated-node-labels.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { profileAnnotations } from '../../../dialect/profile-annotations.ts';
import { isDnsLabel } from '../../../meta/formats.ts';
import { parseQuantity } from '../../../meta/quantity.ts';
import type { NodeSelectorTerm } from '../node-selector.ts';
import type { Affinity } from './affinity.ts';
import { formerAppArmor } from './app-armor.ts';
import type { Container, ContainerPort } from './container/container.ts';
import { overlappingPaths } from './overlapping-paths.ts';
import type { PodSpec } from './pod-spec.ts';

/** Warnings about what is valid but may not have the intended effect, of pods and of what makes pods. */

/** Objects after which pods are named: their hostnames are longer than any DNS label if the names are not one. */
export function nameWarnings(name: string, usedIn: string): readonly string[] {
  const problems = isDnsLabel(name);
  const rule = 'which can result in surprising behavior; a DNS label is recommended';
  return problems.length > 0 ? [`metadata.name: this is used in ${usedIn}, ${rule}: [${problems.join(' ')}]`] : [];
}

/** What is warned of: a pod, or a template of pods. */
interface Warned {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: PodSpec;
}

/** Where it stands: `path` is that of a template (`spec.template`), '' for a pod. */
interface Place {
  readonly path: string;
  readonly dialect: Dialect;
}

/** Warnings about a pod or a template, in the published order. */
export function podWarnings({ metadata = {}, spec = { containers: [] } }: Warned, { path: of, dialect }: Place): readonly string[] {
  const [path, prefix] = of === '' ? ['spec', ''] : [`${of}.spec`, `${of}.`];
  const annotations: Annotations = { given: metadata.annotations ?? {}, path: `${prefix}metadata.annotations` };
  return [
    ...nodeLabelWarnings(spec, path, dialect),
    ...(spec.topologySpreadConstraints ?? []).flatMap(({ topologyKey = '', labelSelector }, index) => [
      ...agedLabel(dialect, topologyKey, (text) => `${path}.topologySpreadConstraints[${index}].topologyKey: ${topologyKey} is ${text}`),
      ...selectsNone(labelSelector, `${path}.topologySpreadConstraints[${index}]`),
    ]),
    ...formerAnnotations(annotations, dialect),
    ...volumeWarnings(spec, path),
    ...overlappingPaths(spec.volumes ?? []),
    ...repeated(
      (spec.hostAliases ?? []).map(({ ip = '' }) => ip),
      (value, index) => `${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(value)}`,
    ),
    ...repeated(
      (spec.imagePullSecrets ?? []).map(({ name = '' }) => name),
      (value, index) => `${path}.imagePullSecrets[${index}].name: duplicate name ${JSON.stringify(value)}`,
    ),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name }, index) => (name ? [] : [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`])),
    ...fractionalBytes(spec.overhead, `${path}.overhead`),
    ...(spec.securityContext?.seccompProfile ? [] : annotated(annotations, profileAnnotations(dialect).seccompOfPod, formerSeccomp)),
    ...containersOf(spec, path).flatMap(({ container, path: at }) => [...profileWarnings(container, { spec, annotations, dialect, isTemplate: of !== '' }), ...containerWarnings(container, at)]),
    ...portWarnings(containersOf(spec, path)),
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0 ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`] : []),
    ...(['podAffinity', 'podAntiAffinity'] as const).flatMap((name) => affinityWarnings(spec.affinity?.[name], `${path}.affinity.${name}`)),
  ];
}

interface PlacedContainer {
  readonly container: Container;
  readonly path: string;
}

const containersOf = (spec: PodSpec, path: string): readonly PlacedContainer[] =>
  (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) => (spec[list] ?? []).map((container, index) => ({ container, path: `${path}.${list}[${index}]` })));

function agedLabel(dialect: Dialect, key: string, warn: (text: string) => string): readonly string[] {
  const text = deprecatedNodeLabel(dialect, key);
  return text === undefined ? [] : [warn(text)];
}

function nodeLabelWarnings({ nodeSelector = {}, affinity }: PodSpec, path: string, dialect: Dialect): readonly string[] {
  const { [hard]: required, [soft]: preferred = [] } = affinity?.nodeAffinity ?? {};
  const at = `${path}.affinity.nodeAffinity`;
  return [
    ...Object.keys(nodeSelector)
      .sort()
      .flatMap((key) => agedLabel(dialect, key, (text) => `${path}.nodeSelector[${key}]: ${text}`)),
    ...(required?.nodeSelectorTerms ?? []).flatMap((term, index) => nodeTermWarnings(term, `${at}.${hard}.nodeSelectorTerms[${index}]`, dialect)),
    ...preferred.flatMap(({ preference = {} }, index) => nodeTermWarnings(preference, `${at}.${soft}[${index}].preference`, dialect)),
  ];
}

/** Node labels of former releases in a term that selects nodes. */
export const nodeTermWarnings = ({ matchExpressions = [] }: NodeSelectorTerm, path: string, dialect: Dialect): readonly string[] =>
  matchExpressions.flatMap(({ key = '' }, index) => agedLabel(dialect, key, (text) => `${path}.matchExpressions[${index}].key: ${key} is ${text}`));

interface Annotations {
  readonly given: Readonly<Record<string, string>>;
  readonly path: string;
}

const annotated = ({ given, path }: Annotations, key: string, text: string): readonly string[] => (Object.hasOwn(given, key) ? [`${path}[${key}]: ${text}`] : []);

/** Annotations that fields have replaced. */
const formerAnnotations = (annotations: Annotations, { domain }: Dialect): readonly string[] => [
  ...annotated(annotations, `scheduler.alpha.${domain}/critical-pod`, 'non-functional in v1.16+; use the "priorityClassName" field instead'),
  ...['sysctls', 'unsafe-sysctls'].flatMap((name) => annotated(annotations, `security.alpha.${domain}/${name}`, 'non-functional in v1.11+; use the "sysctls" field instead')),
];

const formerSeccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';

interface ProfilesOf {
  readonly spec: PodSpec;
  readonly annotations: Annotations;
  readonly dialect: Dialect;
  readonly isTemplate: boolean;
}

/** Profiles of a container that are in annotations. New pods are told of AppArmor when their annotations become fields. */
function profileWarnings({ name, securityContext = {} }: Container, { spec, annotations, dialect, isTemplate }: ProfilesOf): readonly string[] {
  const { seccompOf, appArmorOf } = profileAnnotations(dialect);
  const hasAppArmor = securityContext.appArmorProfile ?? spec.securityContext?.appArmorProfile;
  return [
    ...(securityContext.seccompProfile ? [] : annotated(annotations, seccompOf(name), formerSeccomp)),
    ...(isTemplate && !hasAppArmor ? annotated(annotations, appArmorOf(name), formerAppArmor) : []),
  ];
}

/** Ports that stand for the same one, of all containers together. */
function portWarnings(containers: readonly PlacedContainer[]): readonly string[] {
  const warnings: string[] = [];
  const known = new Map<string, { readonly port: ContainerPort; readonly path: string }[]>();
  for (const { container, path: of } of containers) {
    for (const [index, port] of (container.ports ?? []).entries()) {
      if (warnings.length >= limits.warningsMax) return warnings;
      const path = `${of}.ports[${index}]`;
      if (port.hostIP && !port.hostPort) warnings.push(`${path}: hostIP set without hostPort: ${portAsGo(port)}`);
      const key = `${port.containerPort}/${port.protocol ?? ''}`;
      const others = known.get(key) ?? [];
      for (const other of others) {
        const clash = clashOf(port, other.port);
        if (clash) warnings.push(`${path}: ${clash} port definition with ${other.path}`);
      }
      // More of them tell nothing new.
      if (others.length < limits.warningsMax) known.set(key, [...others, { port, path }]);
    }
  }
  return warnings;
}

function clashOf({ hostIP = '', hostPort = 0 }: ContainerPort, other: ContainerPort): string | undefined {
  const { hostIP: otherIP = '', hostPort: otherPort = 0 } = other;
  if (hostIP === otherIP && hostPort === otherPort) return 'duplicate';
  if (hostPort === 0 || otherPort === 0) return 'overlapping';
  return hostPort === otherPort && (hostIP === '') !== (otherIP === '') ? 'dangerously ambiguous' : undefined;
}

const portAsGo = ({ name = '', hostPort = 0, containerPort, protocol, hostIP = '' }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol ?? ''} HostIP:${hostIP}}`;

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
  volumes.flatMap((volume, index) => [
    ...(Object.keys(agingSources) as (keyof typeof agingSources)[])
      .filter((source) => volume[source] !== undefined)
      .map((source) => `${path}.volumes[${index}].${shownAs[source] ?? source}: ${agingSources[source]}`),
    ...fractionalStorage(volume.ephemeral?.volumeClaimTemplate?.spec?.resources, `${path}.volumes[${index}].ephemeral.volumeClaimTemplate.spec`),
  ]);

/** What a claim asks for in parts of bytes. */
export const fractionalStorage = ({ requests, limits: most }: Amounts = {}, path: string): readonly string[] => [
  ...fractionalBytes(requests, `${path}.resources.requests`, ['storage']),
  ...fractionalBytes(most, `${path}.resources.limits`, ['storage']),
];

interface Amounts {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

const containerWarnings = ({ env = [], resources = {} }: Pick<Container, 'env' | 'resources'>, path: string): readonly string[] => [
  ...countedInBytes.flatMap((name) => (['limits', 'requests'] as const).flatMap((kind) => fractionalBytes(resources[kind], `${path}.resources.${kind}`, [name]))),
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

const fractionalBytes = (resources: Readonly<Record<string, string>> = {}, path: string, names: readonly string[] = countedInBytes): readonly string[] =>
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
