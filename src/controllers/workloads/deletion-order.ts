import type { Steps } from '../../base/time/in-slices.ts';
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
export function* byDeletion(pods: readonly Pod[], { dialect, nowMs, related }: DeletionOrder): Steps<readonly Pod[]> {
  const onNode = new Map<string, number>();
  for (const pod of related) if (isActive(pod)) onNode.set(nodeOf(pod), (onNode.get(nodeOf(pod)) ?? 0) + 1);
  const { podDeletionCost } = workloadNames(dialect);
  const ranked: { readonly pod: Pod; readonly rank: Rank }[] = [];
  for (const pod of pods) {
    yield;
    const cost = costOf(pod.metadata?.annotations?.[podDeletionCost]);
    ranked.push({ pod, rank: rankOf(pod, { nowMs, cost, colocated: onNode.get(nodeOf(pod)) ?? 0 }) });
  }
  return ranked.sort((a, b) => compare(a.rank, b.rank)).map(({ pod }) => pod);
}

/** Made once for each pod: thousands are compared with one another. */
interface Rank {
  /** Compared one after the other, before anything else; the lower one is deleted first. */
  readonly first: readonly number[];
  readonly ready: Age | undefined;
  readonly restarts: readonly number[];
  readonly created: Age | undefined;
  readonly uid: string;
}

interface Age {
  readonly since: number;
  readonly magnitude: number;
}

interface Measure {
  readonly nowMs: number;
  readonly cost: number;
  readonly colocated: number;
}

function rankOf(pod: Pod, { nowMs, cost, colocated }: Measure): Rank {
  const { metadata, status } = pod;
  return {
    first: [nodeOf(pod) === '' ? 0 : 1, phases[status?.phase ?? ''] ?? 0, isReady(pod) ? 1 : 0, cost, -colocated],
    ready: ageOf(readySince(pod), nowMs),
    restarts: restartsOf(pod),
    created: ageOf(parseTime(metadata?.creationTimestamp ?? ''), nowMs),
    uid: metadata?.uid ?? '',
  };
}

const ageOf = (since: number | undefined, nowMs: number): Age | undefined =>
  since === undefined ? undefined : { since, magnitude: magnitudeOf(nowMs - since) };

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

const compare = (a: Rank, b: Rank): number =>
  compareNumbers(a.first, b.first) ||
  compareAges(a, b, a.ready, b.ready) ||
  compareNumbers(a.restarts, b.restarts) ||
  compareAges(a, b, a.created, b.created);

function compareNumbers(some: readonly number[], others: readonly number[]): number {
  for (let at = 0; at < some.length; at++) {
    const difference = (some[at] ?? 0) - (others[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The younger one goes first. Ages are compared by magnitude; of pods that are about as old any one goes, by uid. */
function compareAges(a: Rank, b: Rank, aAge: Age | undefined, bAge: Age | undefined): number {
  if (aAge?.since === bAge?.since) return 0;
  if (!aAge) return -1;
  if (!bAge) return 1;
  return aAge.magnitude - bAge.magnitude || (a.uid < b.uid ? -1 : 1);
}

/** Binary logarithm of an age in nanoseconds, without its fraction. */
const magnitudeOf = (ageMs: number): number => (ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1_000_000)) : -1);
