import type { Dialect } from '../../dialect/dialect.ts';
import { workloadNames } from '../../dialect/workload-names.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { parseTime } from '../../meta/time.ts';
import { isActive, isReady, readySince } from './pod-state.ts';

interface DeletionOrder {
  readonly dialect: Dialect;
  readonly nowMs: number;
  /** Pods with the same controller above the pods' own, as of one deployment: those on one node give each other up first. */
  readonly related: readonly Pod[];
}

/** A copy of the pods, those first that are to be deleted first. The order is that of kube-controller-manager, rule by rule. */
export function byDeletion(pods: readonly Pod[], { dialect, nowMs, related }: DeletionOrder): readonly Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of related) if (isActive(pod)) onNode.set(nodeOf(pod), (onNode.get(nodeOf(pod)) ?? 0) + 1);
  const { podDeletionCost } = workloadNames(dialect);
  const ranked = pods.map((pod) => ({
    pod,
    rank: rankOf(pod, costOf(pod.metadata?.annotations?.[podDeletionCost]), onNode.get(nodeOf(pod)) ?? 0),
  }));
  return ranked.sort((a, b) => compare(a.rank, b.rank, nowMs)).map(({ pod }) => pod);
}

interface Rank {
  /** Compared one after the other, before anything else; the lower one is deleted first. */
  readonly first: readonly number[];
  readonly readySince: number | undefined;
  readonly restarts: readonly number[];
  readonly created: number | undefined;
  readonly uid: string;
}

function rankOf(pod: Pod, cost: number, colocated: number): Rank {
  const { metadata, status } = pod;
  return {
    first: [nodeOf(pod) === '' ? 0 : 1, phases[status?.phase ?? ''] ?? 0, isReady(pod) ? 1 : 0, cost, -colocated],
    readySince: readySince(pod),
    restarts: restartsOf(pod),
    created: parseTime(metadata?.creationTimestamp ?? ''),
    uid: metadata?.uid ?? '',
  };
}

const nodeOf = ({ spec }: Pod): string => spec?.nodeName ?? '';

const phases: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** A cost that is no number of 32 bits counts as none. */
const costOf = (text = ''): number => {
  const value = /^(?:0|-?[1-9]\d{0,9})$/.test(text) ? Number(text) : 0;
  return value === (value | 0) ? value : 0;
};

/** Restarts of the container, and of the sidecar, with the most; negative, because more of them go first. */
function restartsOf({ spec, status }: Pod): readonly number[] {
  const sidecars = new Set<string | undefined>(
    (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  );
  const most = (statuses: readonly { readonly restartCount?: number | undefined }[]): number =>
    statuses.reduce((max, { restartCount = 0 }) => Math.max(max, restartCount), 0);
  return [
    -most(status?.containerStatuses ?? []),
    -most((status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name))),
  ];
}

const compare = (a: Rank, b: Rank, nowMs: number): number =>
  compareNumbers(a.first, b.first) ||
  compareAges(a, b, a.readySince, b.readySince, nowMs) ||
  compareNumbers(a.restarts, b.restarts) ||
  compareAges(a, b, a.created, b.created, nowMs);

function compareNumbers(some: readonly number[], others: readonly number[]): number {
  for (const [at, one] of some.entries()) {
    const other = others[at] ?? 0;
    if (one !== other) return one - other;
  }
  return 0;
}

/** The younger one goes first. Ages are compared by magnitude; of pods that are about as old any one goes, by uid. */
function compareAges(a: Rank, b: Rank, aSince: number | undefined, bSince: number | undefined, nowMs: number): number {
  if (aSince === bSince) return 0;
  if (aSince === undefined) return -1;
  if (bSince === undefined) return 1;
  return magnitudeOf(nowMs - aSince) - magnitudeOf(nowMs - bSince) || (a.uid < b.uid ? -1 : 1);
}

/** Binary logarithm of an age in nanoseconds, without its fraction. */
const magnitudeOf = (ageMs: number): number => (ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1_000_000)) : -1);
