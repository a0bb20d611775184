import { isDeepStrictEqual } from 'node:util';
import { asBinding, type Subject } from '../../kinds/rbac/binding.ts';
import { type AggregationRule, asClusterRole } from '../../kinds/rbac/cluster-role.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { covers } from './covers.ts';

/** How to reconcile one default object. */
type Reconciliation =
  /** Nothing to do: it is complete, or reconciliation is disabled for it. */
  | { readonly type: 'keep' }
  | { readonly type: 'create'; readonly object: ApiObject }
  /** `object` is the existing object with the missing parts added; its resourceVersion detects concurrent writes. */
  | { readonly type: 'update'; readonly object: ApiObject }
  /** The binding refers to another role, which is immutable: delete the object with this uid, then create `object`. */
  | { readonly type: 'recreate'; readonly object: ApiObject; readonly uid: string };

/**
 * Compares a default role or binding with the stored one (spec section 5.8). Adds missing rules, selectors, subjects, labels
 * and annotations. Keeps additions and changed label values; removes only an unexpected aggregationRule. `autoupdate` is the
 * annotation that disables reconciliation if `false`. Modifies neither object.
 */
export function reconcile(expected: ApiObject, existing: ApiObject | undefined, autoupdate: string): Reconciliation {
  if (!existing) return { type: 'create', object: expected };
  if (existing.metadata.annotations?.[autoupdate] === 'false') return { type: 'keep' };
  const object = structuredClone(existing);
  addMissing(object.metadata, 'labels', expected);
  addMissing(object.metadata, 'annotations', expected);
  if (expected.kind === 'Role' || expected.kind === 'ClusterRole') addRules(object, expected);
  else if (!isDeepStrictEqual(asBinding(existing).roleRef, asBinding(expected).roleRef)) {
    return { type: 'recreate', object: expected, uid: existing.metadata.uid ?? '' };
  } else addSubjects(object, expected);
  return isDeepStrictEqual(object, existing) ? { type: 'keep' } : { type: 'update', object };
}

function addMissing(metadata: ApiObject['metadata'], field: 'labels' | 'annotations', expected: ApiObject): void {
  const wanted = expected.metadata[field];
  if (wanted) metadata[field] = { ...wanted, ...metadata[field] };
}

function addRules(object: ApiObject, expected: ApiObject): void {
  const [role, wanted] = [asClusterRole(object), asClusterRole(expected)];
  const { missing } = covers(role.rules ?? [], wanted.rules ?? []);
  if (missing.length > 0) role.rules = [...(role.rules ?? []), ...structuredClone([...missing])];
  if (!wanted.aggregationRule) delete role.aggregationRule;
  else role.aggregationRule = withSelectors(role.aggregationRule ?? {}, wanted.aggregationRule);
}

function withSelectors(existing: AggregationRule, expected: AggregationRule): AggregationRule {
  const selectors = existing.clusterRoleSelectors ?? [];
  const missing = (expected.clusterRoleSelectors ?? []).filter((wanted) => !includes(selectors, wanted));
  return missing.length === 0 ? existing : { clusterRoleSelectors: [...selectors, ...structuredClone(missing)] };
}

function addSubjects(object: ApiObject, expected: ApiObject): void {
  const binding = asBinding(object);
  const subjects: readonly Subject[] = binding.subjects ?? [];
  const missing = (asBinding(expected).subjects ?? []).filter((wanted) => !includes(subjects, wanted));
  if (missing.length > 0) binding.subjects = [...subjects, ...structuredClone(missing)];
}

const includes = <T>(values: readonly T[], wanted: T): boolean =>
  values.some((value) => isDeepStrictEqual(value, wanted));
