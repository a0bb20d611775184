/** How many pods the replica sets of a deployment may have: the arithmetic of kube-controller-manager, without requests. */

type IntOrPercent = number | string;

/** What a deployment wants. */
export interface Wanted {
  readonly replicas: number;
  /** Bounds of a rolling update; undefined for a deployment that stops all former pods first. */
  readonly rolling: { readonly maxSurge: IntOrPercent; readonly maxUnavailable: IntOrPercent } | undefined;
}

/** A replica set, by its numbers. */
export interface Sized {
  readonly name: string;
  /** Creation time as in the metadata. */
  readonly created: string;
  readonly replicas: number;
  readonly available: number;
  /** Replicas and pods at most that the deployment wanted when the set was last scaled; undefined if it does not say so. */
  readonly desired: number | undefined;
  readonly most: number | undefined;
}

/** One step of scaling. */
export interface Resize {
  readonly name: string;
  readonly replicas: number;
}

/** Pods beyond the wanted ones, and pods that may be missing. Of both, one at least is allowed, or nothing could change. */
export function boundsOf({ replicas, rolling }: Wanted): {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
} {
  if (!rolling) return { maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = scaled(rolling.maxSurge, replicas, Math.ceil);
  const missing = scaled(rolling.maxUnavailable, replicas, Math.floor);
  return { maxSurge, maxUnavailable: Math.min(maxSurge === 0 && missing === 0 ? 1 : missing, replicas) };
}

/** A number, or a percentage of the total. */
export const scaled = (value: IntOrPercent, total: number, round: (exact: number) => number): number =>
  typeof value === 'number' ? value : round((Number.parseInt(value, 10) * total) / 100);

/** Replicas of the set of the present template, `current` so far, beside those of all sets. */
export function newReplicas(wanted: Wanted, allReplicas: number, current: number): number {
  const { replicas, rolling } = wanted;
  if (!rolling || current > replicas) return replicas;
  const room = replicas + boundsOf(wanted).maxSurge - allReplicas;
  return room <= 0 ? current : current + Math.min(room, replicas - current);
}

/**
 * Steps by which sets of former templates shrink in a rolling update: first by pods that are not available, which nobody
 * misses, then as far as others are available in their place.
 */
export function reduceFormer(wanted: Wanted, present: Sized, former: readonly Sized[]): readonly Resize[] {
  const active = former.filter(({ replicas }) => replicas > 0).sort(byCreation);
  const least = wanted.replicas - boundsOf(wanted).maxUnavailable;
  const all = sum([present, ...active], ({ replicas }) => replicas);
  let room = all - least - (present.replicas - present.available);
  if (active.length === 0 || room <= 0) return [];
  const steps: Resize[] = [];
  const sizes = new Map(active.map(({ name, replicas }) => [name, replicas]));
  const shrink = (name: string, by: number): void => {
    const replicas = (sizes.get(name) ?? 0) - by;
    sizes.set(name, replicas);
    steps.push({ name, replicas });
  };
  for (const { name, replicas, available } of active) {
    if (room <= 0) break;
    if (replicas === available) continue;
    // The set has not caught up with its own scaling: its numbers cannot be reckoned with.
    if (available > replicas) return steps;
    const by = Math.min(room, replicas - available);
    shrink(name, by);
    room -= by;
  }
  let spare = sum([present, ...active], ({ available }) => available) - least;
  for (const { name } of active) {
    const by = Math.min(sizes.get(name) ?? 0, spare);
    if (by <= 0) continue;
    shrink(name, by);
    spare -= by;
  }
  return steps;
}

/** True if the deployment wanted another number of replicas when one of its sets was last scaled. */
export const isScaled = ({ replicas }: Wanted, sets: readonly Sized[]): boolean =>
  sets.some((set) => set.replicas > 0 && set.desired !== undefined && set.desired !== replicas);

/** All wanted pods are those of this set, and available. */
const isSaturated = ({ replicas }: Wanted, set: Sized | undefined): boolean =>
  set !== undefined && set.replicas === replicas && set.desired === replicas && set.available === replicas;

/**
 * Sizes when a deployment is scaled, or paused: of the only set with pods, or the latest; of several in proportion, so that a
 * roll-out goes neither forth nor back. `reported` is the number of pods in the status of the deployment.
 */
export function scaleAll(
  wanted: Wanted,
  present: Sized | undefined,
  former: readonly Sized[],
  reported: number,
): readonly Resize[] {
  const sets = [...former, ...(present ? [present] : [])];
  const active = sets.filter(({ replicas }) => replicas > 0);
  if (active.length <= 1) {
    const only = active[0] ?? present ?? [...former].sort(byCreation).at(-1);
    return only ? [{ name: only.name, replicas: wanted.replicas }] : [];
  }
  if (isSaturated(wanted, present)) {
    return active.filter((set) => set !== present).map(({ name }) => ({ name, replicas: 0 }));
  }
  return wanted.rolling ? scaleProportionally(wanted, active, reported) : [];
}

function scaleProportionally(wanted: Wanted, active: readonly Sized[], reported: number): readonly Resize[] {
  const most = wanted.replicas + boundsOf(wanted).maxSurge;
  const toAdd = (wanted.replicas > 0 ? most : 0) - sum(active, ({ replicas }) => replicas);
  const inOrder = [...active].sort(
    (a, b) => b.replicas - a.replicas || (toAdd > 0 ? byCreation(b, a) : toAdd < 0 ? byCreation(a, b) : 0),
  );
  let added = 0;
  const sizes = inOrder.map((set) => {
    const part = toAdd === added ? 0 : proportionOf(wanted, set, { most, reported });
    const allowed = toAdd - added;
    const change = toAdd > 0 ? Math.min(part, allowed) : Math.max(part, allowed);
    added += toAdd === 0 ? 0 : change;
    return { name: set.name, replicas: set.replicas + (toAdd === 0 ? 0 : change) };
  });
  return sizes.map((each, index) =>
    index === 0 ? { ...each, replicas: Math.max(each.replicas + toAdd - added, 0) } : each,
  );
}

/** How many replicas a set gets more, by its part in what the deployment had before. */
function proportionOf(
  { replicas }: Wanted,
  set: Sized,
  { most, reported }: { readonly most: number; readonly reported: number },
): number {
  if (replicas === 0) return -set.replicas;
  const before = set.most || reported;
  return before === 0 ? 0 : roundHalfAway((set.replicas * most) / before) - set.replicas;
}

const roundHalfAway = (value: number): number => (value < 0 ? Math.ceil(value - 0.5) : Math.floor(value + 0.5));

/** Older ones first. */
export const byCreation = (a: Pick<Sized, 'created' | 'name'>, b: Pick<Sized, 'created' | 'name'>): number =>
  compareText(a.created, b.created) || compareText(a.name, b.name);

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0);
