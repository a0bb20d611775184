import type { Dialect } from '../../../dialect/dialect.ts';
import { nodeNames } from '../../../dialect/simulation-names.ts';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { PodTemplateSpec } from '../../../kinds/core/pod/pod-template-spec.ts';
import { parseTime } from '../../../meta/time.ts';
import { type PlacedNode, selectsNode, taintsAgainst } from '../placement.ts';
import { isAvailable, isFinished, isReady } from '../pod-state.ts';

/** What daemon sets do on nodes: the rules of kube-controller-manager, without requests. */

type Spec = NonNullable<Pod['spec']>;
type Toleration = NonNullable<Spec['tolerations']>[number];

/** Whether pods of a template run on a node: `stay` if those that are there go on, and no other is made. */
export type Fit = 'run' | 'stay' | 'none';

export function fitOf({ spec }: PodTemplateSpec, node: PlacedNode, dialect: Dialect): Fit {
  if (!spec || (spec.nodeName !== undefined && spec.nodeName !== '' && spec.nodeName !== node.name)) return 'none';
  const pod: Pod = { spec: { ...spec, tolerations: [...daemonTolerations(spec, dialect)] } };
  if (!selectsNode(pod, node)) return 'none';
  const against = taintsAgainst(pod, node.taints);
  if (against.length === 0) return 'run';
  return against.some(({ effect }) => effect === 'NoExecute') ? 'none' : 'stay';
}

/** The tolerations of the template, with those that pods of daemon sets have as they are part of their node. */
export function daemonTolerations(spec: Spec, dialect: Dialect): readonly Toleration[] {
  const names = nodeNames(dialect);
  const lacks = [names.diskPressure, names.memoryPressure, names.processPressure, names.unschedulable];
  const added: Toleration[] = [
    ...[names.notReady, names.unreachable].map((key) => ({ key, operator: 'Exists', effect: 'NoExecute' }) as const),
    ...[...lacks, ...(spec.hostNetwork ? [names.networkUnavailable] : [])].map(
      (key) => ({ key, operator: 'Exists', effect: 'NoSchedule' }) as const,
    ),
  ];
  const isAdded = (own: Toleration): boolean =>
    added.some(
      ({ key, operator, effect }) =>
        key === own.key && operator === own.operator && effect === own.effect && (own.value ?? '') === '',
    );
  return [...(spec.tolerations ?? []).filter((own) => !isAdded(own)), ...added];
}

const nameField = 'metadata.name';

/** The affinity of the template, for one node by its name, as the scheduler obeys it. */
export const affinityTo = ({ affinity }: Spec, node: string) => ({
  ...affinity,
  nodeAffinity: {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: nameField, operator: 'In' as const, values: [node] }] }],
    },
  },
});

/** The node that a pod is on, or is meant for; undefined if neither. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName;
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields = [] } of terms) {
    for (const { key, operator, values = [] } of matchFields) {
      if (key === nameField && operator === 'In' && values.length === 1) return values[0];
    }
  }
  return undefined;
}

/** A node with the pods of one daemon set that are on it or meant for it. */
export interface DaemonNode {
  readonly name: string;
  readonly fit: Fit;
  /** False of a node that is only known by its pods. */
  readonly exists: boolean;
  readonly pods: readonly Pod[];
}

/** What decides about pods beside their nodes. */
export interface Rollout {
  readonly isUpdated: (pod: Pod) => boolean;
  readonly minReadySeconds: number;
  readonly nowMs: number;
  /** Pods beyond one for each node, and nodes without an available one, that are allowed. */
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

interface NodeWork {
  /** The node needs a pod. */
  readonly isMissing: boolean;
  readonly surplus: readonly Pod[];
  /** Pods that have ended where one should run: they are deleted, and replaced when they are gone. */
  readonly ended: readonly Pod[];
}

/** What brings a node to one pod, or to a second one while the first is replaced. */
export function nodeWork({ fit, exists, pods }: DaemonNode, rollout: Rollout): NodeWork {
  const staying = pods.filter((pod) => !pod.metadata?.deletionTimestamp);
  // Pods that are bound to a node that is gone are left to the collector of such pods.
  if (!exists) return { isMissing: false, surplus: pods.filter(({ spec }) => !spec?.nodeName), ended: [] };
  if (fit === 'none') return { isMissing: false, surplus: staying, ended: [] };
  if (fit === 'run' && pods.length === 0) return { isMissing: true, surplus: [], ended: [] };
  const ended = staying.filter(isFinished);
  const running = staying.filter((pod) => !isFinished(pod)).sort(boundAndOldFirst);
  if (rollout.maxSurge === 0) return { isMissing: false, surplus: running.slice(1), ended };
  return {
    isMissing: running.length === 0 && fit === 'run',
    surplus: running.length > 1 ? surgeSurplus(running, rollout) : [],
    ended,
  };
}

/** Of two pods the former one goes as soon as it is not ready, or the new one is available. */
function surgeSurplus(running: readonly Pod[], { isUpdated, minReadySeconds, nowMs }: Rollout): readonly Pod[] {
  const updated = running.find(isUpdated);
  const former = running.find((pod) => !isUpdated(pod));
  const others = running.filter((pod) => pod !== updated && pod !== former);
  const isOver = updated && former && (!isReady(former) || isAvailable(updated, minReadySeconds, nowMs));
  return isOver ? [...others, former] : others;
}

function boundAndOldFirst(a: Pod, b: Pod): number {
  const bound = Number(Boolean(b.spec?.nodeName)) - Number(Boolean(a.spec?.nodeName));
  const created = ({ metadata }: Pod): number => parseTime(metadata?.creationTimestamp ?? '') ?? 0;
  return bound || created(a) - created(b) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);
}

interface RolloutStep {
  readonly remove: readonly Pod[];
  /** Nodes that get a second pod. */
  readonly create: readonly string[];
}

/** The next step of a rolling update, over nodes that have or should have a pod. */
export const rolloutStep = (nodes: readonly DaemonNode[], rollout: Rollout): RolloutStep =>
  rollout.maxSurge === 0 ? replaceStep(nodes, rollout) : surgeStep(nodes, rollout);

/** Former and new pod of a node; undefined if it has more than one of either, which are surplus. */
function pairOf(pods: readonly Pod[], { isUpdated }: Rollout) {
  const staying = pods.filter((pod) => !pod.metadata?.deletionTimestamp);
  const [updated, former] = [staying.filter(isUpdated), staying.filter((pod) => !isUpdated(pod))];
  return updated.length > 1 || former.length > 1 ? undefined : { updated: updated[0], former: former[0] };
}

/** Former pods that are not available go at once; others as far as no more than the bound are unavailable. */
function replaceStep(nodes: readonly DaemonNode[], rollout: Rollout): RolloutStep {
  const { minReadySeconds, nowMs, maxUnavailable } = rollout;
  const isUp = (pod: Pod): boolean => isAvailable(pod, minReadySeconds, nowMs);
  const down: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const { pods } of nodes) {
    const { updated, former } = pairOf(pods, rollout) ?? {};
    if (former && !updated) (isUp(former) ? candidates : down).push(former);
    if (former && !updated ? !isUp(former) : !updated || former || !isUp(updated)) unavailable += 1;
  }
  return { remove: [...down, ...candidates.slice(0, Math.max(maxUnavailable - unavailable, 0))], create: [] };
}

/**
 * New pods come beside former ones: at once where these are not available, and as far as the bound allows where they are. Former
 * ones go when the new ones are available; those on nodes that should run none, when enough others are.
 */
function surgeStep(nodes: readonly DaemonNode[], rollout: Rollout): RolloutStep {
  const { minReadySeconds, nowMs, maxSurge } = rollout;
  const isUp = (pod: Pod | undefined): boolean => pod !== undefined && isAvailable(pod, minReadySeconds, nowMs);
  const [remove, leaving]: [Pod[], Pod[]] = [[], []];
  const [create, candidates]: [string[], string[]] = [[], []];
  let [surging, available] = [0, 0];
  for (const { name, fit, pods } of nodes) {
    const pair = pairOf(pods, rollout);
    if (!pair) {
      surging += 1;
      continue;
    }
    const { updated, former } = pair;
    if (isUp(former ?? updated)) available += 1;
    if (!former) continue;
    if (updated && isUp(updated)) remove.push(former);
    else if (updated) surging += 1;
    else if (fit !== 'run') (isUp(former) ? leaving : remove).push(former);
    else (isUp(former) ? candidates : create).push(name);
  }
  const wanted = nodes.filter(({ fit }) => fit === 'run').length;
  remove.push(...leaving.slice(0, Math.max(available - wanted, 0)));
  return { remove, create: [...create, ...candidates.slice(0, Math.max(maxSurge - surging, 0))] };
}

/** Counts of the status; those that are left out when they are 0 are undefined then. */
export function daemonCounts(nodes: readonly DaemonNode[], { isUpdated, minReadySeconds, nowMs }: Rollout) {
  const existing = nodes.filter(({ exists }) => exists);
  const wanted = existing.filter(({ fit }) => fit === 'run');
  const first = wanted.flatMap(({ pods }) => [...pods].sort(boundAndOldFirst).slice(0, 1));
  const available = first.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length;
  return {
    currentNumberScheduled: first.length,
    numberMisscheduled: existing.filter(({ fit, pods }) => fit !== 'run' && pods.length > 0).length,
    desiredNumberScheduled: wanted.length,
    numberReady: first.filter(isReady).length,
    updatedNumberScheduled: first.filter(isUpdated).length || undefined,
    numberAvailable: available || undefined,
    numberUnavailable: wanted.length - available || undefined,
  };
}
