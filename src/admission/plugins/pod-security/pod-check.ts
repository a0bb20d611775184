import type { Container } from '../../../kinds/core/pod/container/container.ts';
import type { EphemeralContainer } from '../../../kinds/core/pod/container/ephemeral-container.ts';
import type { PodSecurityContext, SecurityContext } from '../../../kinds/core/pod/container/security-context.ts';
import type { PodSpec } from '../../../kinds/core/pod/pod-spec.ts';

/** A pod, or the template of one. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Partial<PodSpec>;
  /** Domain of the keys of annotations. */
  readonly domain: string;
}

/** Why a pod is refused. */
export interface PodFinding {
  /** Names what is wrong: `hostPort`. */
  readonly reason: string;
  /** Says where: `container "a" uses hostPort 80`. Never empty. */
  readonly detail: string;
}

/** A control of the Pod Security Standards: undefined if the pod complies. Reasons and details are the published ones. */
export type PodCheck = (pod: CheckedPod) => PodFinding | undefined;

type AnyContainer = Container | EphemeralContainer;

/** All containers, in the order in which they are named in findings. */
export const containersOf = ({ spec }: CheckedPod): readonly AnyContainer[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

/** Names of the containers whose security context (empty if absent) is one that is looked for. */
export const containersWith = (pod: CheckedPod, isFound: (context: SecurityContext) => boolean): readonly string[] =>
  containersOf(pod)
    .filter(({ securityContext }) => isFound(securityContext ?? {}))
    .map(({ name = '' }) => name);

/** The pod and the containers that set a value which is not allowed. */
interface Setters {
  readonly pod: boolean;
  readonly containers: readonly string[];
}

/** Who has a security context, of the pod or a container, that is looked for. */
export const settersOf = (
  pod: CheckedPod,
  isFound: (context: SecurityContext | PodSecurityContext) => boolean,
): Setters => ({
  pod: isFound(pod.spec.securityContext ?? {}),
  containers: containersWith(pod, isFound),
});

/** `pod and containers "a", "b"`; '' if nobody. */
export const namedSetters = ({ pod, containers }: Setters): string =>
  [...(pod ? ['pod'] : []), ...(containers.length > 0 ? [namedContainers(containers)] : [])].join(' and ');

export const namedContainers = (names: readonly string[]): string =>
  `${plural('container', names.length)} ${quoted(names)}`;

export const plural = (noun: string, count: number): string => (count === 1 ? noun : `${noun}s`);

/** `"a", "b"` */
export const quoted = (items: readonly string[]): string => items.map((item) => `"${item}"`).join(', ');

/** Each value once, sorted. */
export const sorted = (values: Iterable<string>): readonly string[] => [...new Set(values)].sort();
