import type { DefinitionCondition, DefinitionHead, DefinitionNames } from './custom-resource-definition.ts';

/** Result of comparing the names that a definition asks for with those in use. */
interface NamesDecision {
  readonly acceptedNames: DefinitionNames;
  /** Condition `NamesAccepted`, without its time. */
  readonly condition: DefinitionCondition;
}

/**
 * Decides which names a definition gets: each name that it has already, or that no other definition of the group has
 * accepted; `others` are the names accepted by those. A
 * list of short names is accepted as a whole. The last conflict found is the one in the condition, as in kube-apiserver.
 */
export function acceptNames({ names: wanted, status }: DefinitionHead, others: Iterable<DefinitionNames>): NamesDecision {
  const used = usedNames(others);
  const accepted = status.acceptedNames ?? {};
  const acceptedNames: DefinitionNames = { ...accepted };
  let conflict: Pick<DefinitionCondition, 'reason' | 'message'> | undefined;
  for (const { field, among, reason } of singleNames) {
    const name = wanted[field] ?? '';
    if (name !== accepted[field] && used[among].has(name)) conflict = { reason, message: inUse(name) };
    else acceptedNames[field] = name;
  }
  const shortNames = wanted.shortNames ?? [];
  const own = new Set([...(accepted.shortNames ?? []), accepted.plural, accepted.singular]);
  const taken = shortNames.filter((name) => !own.has(name) && used.resources.has(name));
  if (taken.length > 0) conflict = { reason: 'ShortNamesConflict', message: aggregated(taken.map(inUse)) };
  else acceptedNames.shortNames = shortNames;
  acceptedNames.categories = wanted.categories ?? [];
  if (acceptedNames.shortNames?.length === 0) delete acceptedNames.shortNames;
  if (acceptedNames.categories.length === 0) delete acceptedNames.categories;
  return {
    acceptedNames,
    condition: conflict ? { type: 'NamesAccepted', status: 'False', ...conflict } : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
  };
}

const singleNames = [
  { field: 'plural', among: 'resources', reason: 'PluralConflict' },
  { field: 'singular', among: 'resources', reason: 'SingularConflict' },
  { field: 'kind', among: 'kinds', reason: 'KindConflict' },
  { field: 'listKind', among: 'kinds', reason: 'ListKindConflict' },
] as const;

function usedNames(others: Iterable<DefinitionNames>) {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames = [], kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

/** Several messages in the form of Go's aggregated errors. */
export const aggregated = (messages: readonly string[]): string => {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
};
