import { limits } from '../../base/limits.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import type { GroupVersionKind } from '../kind.ts';
import type { MatchResources } from './policy-schema.ts';

type ResourceRule = NonNullable<MatchResources['resourceRules']>[number];

/** Types that are served, by group, version and resource in lower case, plural or singular. */
export type ServedTypes = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, GroupVersionKind>>>;

/** API groups that the rules of a policy name. */
export function* groupsNamed({ resourceRules = [] }: MatchResources): Steps<ReadonlySet<string>> {
  const groups = new Set<string>();
  for (const rule of resourceRules) {
    if (namesTypes(rule)) for (const group of rule.apiGroups ?? []) groups.add(group);
    yield;
  }
  return groups;
}

/**
 * The types that the rules of a policy name, by group, version and kind (KEP-3488, "Type Checking"). Resources with a wildcard,
 * and subresources, are passed over; a rule with a wildcard in its groups or versions is, as a whole. A rule that names as many
 * types as are checked is the last one that is looked at.
 */
export function* typesNamed({ resourceRules = [] }: MatchResources, served: ServedTypes): Steps<readonly GroupVersionKind[]> {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of resourceRules) {
    yield;
    if (!namesTypes(rule)) continue;
    let left: number = limits.policyTypesMax;
    for (const type of typesOf(rule, served)) {
      found.set(typeText(type), type);
      if (--left === 0) return sorted(found);
    }
  }
  return sorted(found);
}

const namesTypes = ({ apiGroups = [], apiVersions = [] }: ResourceRule): boolean => ![...apiGroups, ...apiVersions].some((name) => name.includes('*'));

function* typesOf({ apiGroups = [], apiVersions = [], resources = [] }: ResourceRule, served: ServedTypes): Generator<GroupVersionKind> {
  const names = new Set(resources.filter((name) => !/[*/]/.test(name)).map((name) => name.toLowerCase()));
  const versionNames = new Set(apiVersions);
  for (const versions of among(new Set(apiGroups), served)) {
    for (const types of among(versionNames, versions)) yield* among(names, types);
  }
}

/** The values of these keys, by key. Costs as much as the smaller of both. */
function among<T>(keys: ReadonlySet<string>, values: ReadonlyMap<string, T>): readonly T[] {
  const common = keys.size < values.size ? [...keys].filter((key) => values.has(key)) : [...values.keys()].filter((key) => keys.has(key));
  return common.sort(byCodeUnit).flatMap((key) => values.get(key) ?? []);
}

/** As kube-apiserver writes it: `apps/v1, Kind=Deployment`; the core group is empty. */
export const typeText = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`;

const sorted = (types: ReadonlyMap<string, GroupVersionKind>): readonly GroupVersionKind[] =>
  [...types.values()].sort((a, b) => byCodeUnit(a.group, b.group) || byCodeUnit(a.version, b.version) || byCodeUnit(a.kind, b.kind));

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
