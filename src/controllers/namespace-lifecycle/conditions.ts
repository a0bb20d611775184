import { formatTime } from '../../meta/time.ts';

/** A condition of a namespace that reports on its deletion (NamespaceCondition in Kubernetes). */
export interface NamespaceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly reason: string;
  readonly message: string;
}

/** Result of one attempt to empty a namespace. */
export interface Findings {
  /** Groups that could not be discovered. */
  readonly discoveryFailures: readonly string[];
  /** Discovered group versions that are malformed. */
  readonly malformedGroups: readonly string[];
  /** Resources whose objects could not be deleted. */
  readonly deletionFailures: readonly string[];
  /** By `resource.group`: number of remaining objects. */
  readonly remaining: ReadonlyMap<string, number>;
  /** By finalizer: number of objects that have it. */
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Aspect {
  readonly type: string;
  readonly ok: readonly [reason: string, message: string];
  readonly bad: string;
  /** The problem; undefined if there is none. */
  readonly problem: (findings: Findings) => string | undefined;
}

const emptyToUndefined = (texts: readonly string[], text: (joined: string) => string): string | undefined =>
  texts.length === 0 ? undefined : text([...texts].sort().join(', '));

const counted = (counts: ReadonlyMap<string, number>, text: (name: string, count: number) => string): string[] =>
  [...counts].filter(([, count]) => count > 0).map(([name, count]) => text(name, count));

/** In display order. */
const aspects: readonly Aspect[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    ok: ['ResourcesDiscovered', 'All resources successfully discovered'],
    bad: 'DiscoveryFailed',
    problem: ({ discoveryFailures }) =>
      emptyToUndefined(
        discoveryFailures,
        (all) => `Discovery failed for some groups, ${discoveryFailures.length} failing: ${all}`,
      ),
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    ok: ['ParsedGroupVersions', 'All legacy types successfully parsed'],
    bad: 'GroupVersionParsingFailed',
    problem: ({ malformedGroups }) => emptyToUndefined(malformedGroups, (all) => all),
  },
  {
    type: 'NamespaceDeletionContentFailure',
    ok: ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    bad: 'ContentDeletionFailed',
    problem: ({ deletionFailures }) =>
      emptyToUndefined(
        deletionFailures,
        (all) => `Failed to delete all resource types, ${deletionFailures.length} remaining: ${all}`,
      ),
  },
  {
    type: 'NamespaceContentRemaining',
    ok: ['ContentRemoved', 'All content successfully removed'],
    bad: 'SomeResourcesRemain',
    problem: ({ remaining }) =>
      emptyToUndefined(
        counted(remaining, (resource, count) => `${resource} has ${count} resource instances`),
        (all) => `Some resources are remaining: ${all}`,
      ),
  },
  {
    type: 'NamespaceFinalizersRemaining',
    ok: ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    bad: 'SomeFinalizersRemain',
    problem: ({ finalizers }) =>
      emptyToUndefined(
        counted(finalizers, (finalizer, count) => `${finalizer} in ${count} resource instances`),
        (all) => `Some content in the namespace has finalizers remaining: ${all}`,
      ),
  },
];

/** Bounds the message of a condition, however many objects the namespace has. */
const messageLengthMax = 4_096;

/**
 * The conditions after an attempt; `True` reports a problem. Conditions of other types are kept, and
 * lastTransitionTime changes only with the status. Undefined if nothing changes.
 */
export function conditionsAfter(
  before: readonly NamespaceCondition[],
  findings: Findings,
  nowMs: number,
): readonly NamespaceCondition[] | undefined {
  const after = [...before];
  let changed = false;
  for (const aspect of aspects) {
    const at = after.findIndex(({ type }) => type === aspect.type);
    const old = after[at];
    const wanted = conditionOf(aspect, findings, old, nowMs);
    if (old && old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message) continue;
    changed = true;
    if (old) after[at] = wanted;
    else after.push(wanted);
  }
  return changed ? after : undefined;
}

function conditionOf(
  { type, ok, bad, problem }: Aspect,
  findings: Findings,
  old: NamespaceCondition | undefined,
  nowMs: number,
): NamespaceCondition {
  const found = problem(findings);
  const status = found === undefined ? 'False' : 'True';
  const unmoved = old?.status === status ? old.lastTransitionTime : undefined;
  const [reason, message] = found === undefined ? ok : [bad, found.slice(0, messageLengthMax)];
  return { type, status, lastTransitionTime: unmoved ?? formatTime(nowMs), reason, message };
}
