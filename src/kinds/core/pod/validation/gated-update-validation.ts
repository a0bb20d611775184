import { isDeepStrictEqual } from 'node:util';
import { errorsOfEach, type FieldError, invalid, invalidMap } from '../../../../meta/field-error.ts';
import type { NodeSelectorTerm } from '../../node-selector.ts';
import type { PodSpec } from '../pod-spec.ts';

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const affinityPath = 'spec.affinity.nodeAffinity';

/**
 * While a pod has scheduling gates, its node selector and required node affinity may become narrower, never wider. For
 * other pods they are immutable, which `pod-update-validation.ts` checks.
 */
export function validateGatedScheduling(spec: PodSpec, old: PodSpec): FieldError[] {
  if ((old.schedulingGates ?? []).length === 0) return [];
  return [...validateNodeSelector(spec, old), ...validateNodeAffinity(spec, old)];
}

/** Only allows added labels. */
function validateNodeSelector({ nodeSelector = {} }: PodSpec, old: PodSpec): FieldError[] {
  const kept = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => nodeSelector[key] === value);
  const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  return kept ? [] : [invalidMap('spec.nodeSelector', nodeSelector, detail)];
}

/** Required affinity may be set if absent; existing terms may only get more requirements. Preferences may change freely. */
function validateNodeAffinity(spec: PodSpec, old: PodSpec): FieldError[] {
  const oldTerms = old.affinity?.nodeAffinity?.[required]?.nodeSelectorTerms;
  if (!oldTerms) return [];
  const field = `${affinityPath}.${required}.nodeSelectorTerms`;
  const terms = spec.affinity?.nodeAffinity?.[required]?.nodeSelectorTerms ?? [];
  if (terms.length !== oldTerms.length) {
    return [invalid(field, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')];
  }
  return errorsOfEach(terms, (term, index) => validateTerm(term, oldTerms[index] ?? {}, `${field}[${index}]`));
}

function validateTerm(term: NodeSelectorTerm, old: NodeSelectorTerm, path: string): FieldError[] {
  // A term without requirements matches no node: adding some would widen it.
  const narrower =
    isEmpty(old) === isEmpty(term) &&
    isPrefix(old.matchExpressions, term.matchExpressions) &&
    isPrefix(old.matchFields, term.matchFields);
  return narrower ? [] : [invalid(path, term, 'only additions are allowed (no mutations or deletions)')];
}

const isEmpty = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean =>
  matchExpressions.length === 0 && matchFields.length === 0;

const isPrefix = (head: readonly unknown[] = [], whole: readonly unknown[] = []): boolean =>
  head.every((each, index) => isDeepStrictEqual(each, whole[index]));
