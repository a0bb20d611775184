import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain, isLabelValue, isQualifiedName } from '../../../../meta/formats.ts';
import type { Infer } from '../../../../schema/schema.ts';
import type { labelSelector } from '../../../meta/label-selector.ts';
import type { NodeSelectorTerm } from '../../node-selector.ts';
import type { Affinity } from '../affinity.ts';
import type { TopologySpreadConstraint } from '../topology-spread.ts';
import { failing } from './field-checks.ts';

type LabelSelector = Infer<typeof labelSelector>;
type Requirement = NonNullable<NodeSelectorTerm['matchExpressions']>[number];

/** The schema checks weights and topology keys. */
export function validateAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, path: string): FieldError[] {
  return [
    ...validateNodeAffinity(nodeAffinity, `${path}.nodeAffinity`),
    ...validatePodTerms(podAffinity, `${path}.podAffinity`),
    ...validatePodTerms(podAntiAffinity, `${path}.podAntiAffinity`),
  ];
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';

function validateNodeAffinity(affinity: Affinity['nodeAffinity'], path: string): FieldError[] {
  const terms = affinity?.[hard]?.nodeSelectorTerms ?? [];
  const preferences = affinity?.[soft] ?? [];
  return [
    ...errorsOfEach(terms, (term, index) =>
      validateNodeTerm(term, `${path}.${hard}.nodeSelectorTerms[${index}]`, { labelValues: true }),
    ),
    ...errorsOfEach(preferences, ({ preference }, index) =>
      validateNodeTerm(preference ?? {}, `${path}.${soft}[${index}].preference`, { labelValues: false }),
    ),
  ];
}

/** Preferred terms may have values that are not valid label values, because a node need not match them. */
export function validateNodeTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: string,
  { labelValues }: { readonly labelValues: boolean },
): FieldError[] {
  return [
    ...errorsOfEach(matchExpressions, (requirement, index) => {
      const at = `${path}.matchExpressions[${index}]`;
      const { key = '', values = [] } = requirement;
      return [
        ...validateCount(requirement, at),
        ...failing(isQualifiedName, `${at}.key`, key),
        ...(labelValues ? errorsOfEach(values, (value, i) => failing(isLabelValue, `${at}.values[${i}]`, value)) : []),
      ];
    }),
    ...errorsOfEach(matchFields, (requirement, index) =>
      validateNodeField(requirement, `${path}.matchFields[${index}]`),
    ),
  ];
}

/** Checks the number of values for an operator. */
function validateCount({ operator, values = [] }: Requirement, path: string): FieldError[] {
  const field = `${path}.values`;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0 ? [] : [required(field, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [forbidden(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    case 'Gt':
    case 'Lt':
      return values.length === 1
        ? []
        : [required(field, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [];
  }
}

/** The only field for selecting nodes is `metadata.name`. */
function validateNodeField({ key = '', operator, values = [] }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(invalid(`${path}.operator`, operator, 'not a valid selector operator'));
  } else if (values.length !== 1) {
    const rule = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${path}.values`, rule));
  }
  if (key !== 'metadata.name') return [...errors, invalid(`${path}.key`, key, 'not a valid field selector key')];
  return [
    ...errors,
    ...errorsOfEach(values, (value, index) => failing(isDnsSubdomain, `${path}.values[${index}]`, value)),
  ];
}

type PodAffinity = Affinity['podAffinity'];
type PodAffinityTerm = NonNullable<NonNullable<PodAffinity>[typeof hard]>[number];

const validatePodTerms = (affinity: PodAffinity, path: string): FieldError[] => [
  ...errorsOfEach(affinity?.[hard] ?? [], (term, index) => validatePodTerm(term, `${path}.${hard}[${index}]`)),
  ...errorsOfEach(affinity?.[soft] ?? [], ({ podAffinityTerm }, index) =>
    podAffinityTerm ? validatePodTerm(podAffinityTerm, `${path}.${soft}[${index}].podAffinityTerm`) : [],
  ),
];

function validatePodTerm(term: PodAffinityTerm, path: string): FieldError[] {
  const { namespaces = [], matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term;
  const mismatched = new Set(mismatchLabelKeys);
  return [
    ...errorsOfEach(namespaces, (name) => failing(isDnsLabel, `${path}.namespace`, name)),
    ...validateLabelKeys(matchLabelKeys, `${path}.matchLabelKeys`, labelSelector),
    ...validateLabelKeys(mismatchLabelKeys, `${path}.mismatchLabelKeys`, labelSelector),
    ...errorsOfEach(matchLabelKeys, (key, index) =>
      mismatched.has(key)
        ? [invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys')]
        : [],
    ),
  ];
}

/** Checks label keys next to a selector. The schema forbids them without one. */
const validateLabelKeys = (keys: readonly string[], path: string, selector: LabelSelector | undefined): FieldError[] =>
  selector ? errorsOfEach(keys, (key, index) => failing(isQualifiedName, `${path}[${index}]`, key)) : [];

/** The schema checks skews, topology keys and policies. */
export function validateTopologySpread(constraints: readonly TopologySpreadConstraint[], path: string): FieldError[] {
  return errorsOfEach(constraints, (constraint, index) => {
    const at = `${path}[${index}]`;
    const { whenUnsatisfiable, labelSelector, matchLabelKeys = [], minDomains } = constraint;
    const errors: FieldError[] = [];
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      const rule = 'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway';
      errors.push(invalid(`${at}.minDomains`, minDomains, rule));
    }
    return [...errors, ...validateSpreadKeys(matchLabelKeys, `${at}.matchLabelKeys`, labelSelector)];
  });
}

/** Unlike in pod affinity, a key may not also be in the selector. */
function validateSpreadKeys(keys: readonly string[], path: string, selector: LabelSelector | undefined): FieldError[] {
  const selected = new Set([
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  return [
    ...validateLabelKeys(keys, path, selector),
    ...errorsOfEach(keys, (key, index) =>
      selected.has(key) ? [invalid(`${path}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector')] : [],
    ),
  ];
}
