import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain, isLabelValue, isQualifiedName } from '../../../../meta/formats.ts';
import type { LabelSelector } from '../../../meta/label-selector.ts';
import type { NodeSelector, NodeSelectorTerm } from '../../node-selector.ts';
import type { Affinity } from '../affinity.ts';
import type { TopologySpreadConstraint } from '../topology-spread.ts';
import { failing } from './field-checks.ts';

type Requirement = NonNullable<NodeSelectorTerm['matchExpressions']>[number];

/** The schema checks label selectors. */
export function validateAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, path: string): FieldError[] {
  return [
    ...validateNodeAffinity(nodeAffinity, `${path}.nodeAffinity`),
    ...validatePodTerms(podAffinity, `${path}.podAffinity`),
    ...validatePodTerms(podAntiAffinity, `${path}.podAntiAffinity`),
  ];
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Values need not be valid label values: no node matches those that are not. */
function validateNodeAffinity(affinity: Affinity['nodeAffinity'], path: string): FieldError[] {
  const selector = affinity?.[hard];
  return [
    ...(selector ? validateNodeSelector(selector, `${path}.${hard}`, { labelValues: false }) : []),
    ...errorsOfEach(affinity?.[soft] ?? [], ({ weight, preference = {} }, index) => [
      ...validateWeight(weight, `${path}.${soft}[${index}].weight`),
      ...validateNodeTerm(preference, `${path}.${soft}[${index}].preference`, { labelValues: false }),
    ]),
  ];
}

const validateWeight = (weight = 0, field: string): FieldError[] =>
  weight >= 1 && weight <= 100 ? [] : [invalid(field, weight, 'must be in the range 1-100')];

interface NodeSelectorRules {
  /** Values of labels must be valid ones. */
  readonly labelValues: boolean;
}

export function validateNodeSelector(
  { nodeSelectorTerms = [] }: NodeSelector,
  path: string,
  rules: NodeSelectorRules,
): FieldError[] {
  const field = `${path}.nodeSelectorTerms`;
  if (nodeSelectorTerms.length === 0) return [required(field, 'must have at least one node selector term')];
  return errorsOfEach(nodeSelectorTerms, (term, index) => validateNodeTerm(term, `${field}[${index}]`, rules));
}

function validateNodeTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: string,
  { labelValues }: NodeSelectorRules,
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

const unknownOperator = (path: string, operator: string): FieldError =>
  invalid(`${path}.operator`, operator, 'not a valid selector operator');

/** Checks the operator and the number of its values. */
function validateCount({ operator = '', values = [] }: Requirement, path: string): FieldError[] {
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
      return [unknownOperator(path, operator)];
  }
}

/** The only field for selecting nodes is `metadata.name`. */
function validateNodeField({ key = '', operator = '', values = [] }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') errors.push(unknownOperator(path, operator));
  else if (values.length !== 1) {
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
  ...errorsOfEach(affinity?.[soft] ?? [], ({ weight, podAffinityTerm = {} }, index) => [
    ...validateWeight(weight, `${path}.${soft}[${index}].weight`),
    ...validatePodTerm(podAffinityTerm, `${path}.${soft}[${index}].podAffinityTerm`),
  ]),
];

function validatePodTerm(term: PodAffinityTerm, path: string): FieldError[] {
  const { namespaces = [], matchLabelKeys = [], mismatchLabelKeys = [], labelSelector, topologyKey = '' } = term;
  const mismatched = new Set(mismatchLabelKeys);
  const field = `${path}.topologyKey`;
  return [
    ...errorsOfEach(namespaces, (name) => failing(isDnsLabel, `${path}.namespace`, name)),
    ...validateLabelKeys(matchLabelKeys, `${path}.matchLabelKeys`, labelSelector),
    ...validateLabelKeys(mismatchLabelKeys, `${path}.mismatchLabelKeys`, labelSelector),
    ...errorsOfEach(matchLabelKeys, (key, index) =>
      mismatched.has(key)
        ? [invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys')]
        : [],
    ),
    // Both are told, as published.
    ...(topologyKey === '' ? [required(field, 'can not be empty')] : []),
    ...failing(isQualifiedName, field, topologyKey),
  ];
}

const needsSelector = (keys: readonly string[], path: string, selector: LabelSelector | undefined): FieldError[] =>
  selector || keys.length === 0 ? [] : [forbidden(path, 'must not be specified when labelSelector is not set')];

/** Keys of labels that narrow a selector. */
const validateLabelKeys = (
  keys: readonly string[],
  path: string,
  selector: LabelSelector | undefined,
): FieldError[] => [
  ...needsSelector(keys, path, selector),
  ...errorsOfEach(keys, (key, index) => failing(isQualifiedName, `${path}[${index}]`, key)),
];

const actions = ['DoNotSchedule', 'ScheduleAnyway'];
const policies = ['Honor', 'Ignore'];

/** Of constraints for the same topology all but the last are in error. */
export function validateTopologySpread(constraints: readonly TopologySpreadConstraint[], path: string): FieldError[] {
  const lastOf = new Map(constraints.map((constraint, index) => [topologyOf(constraint), index]));
  return errorsOfEach(constraints, (constraint, index) =>
    validateConstraint(constraint, `${path}[${index}]`, { repeated: lastOf.get(topologyOf(constraint)) !== index }),
  );
}

const topologyOf = ({ topologyKey = '', whenUnsatisfiable = '' }: TopologySpreadConstraint): string =>
  `{${topologyKey}, ${whenUnsatisfiable}}`;

const mustBePositive = (field: string, value: number): FieldError[] =>
  value > 0 ? [] : [invalid(field, value, 'must be greater than zero')];

function validateConstraint(
  constraint: TopologySpreadConstraint,
  path: string,
  { repeated }: { readonly repeated: boolean },
): FieldError[] {
  const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains, labelSelector } = constraint;
  const { nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys = [] } = constraint;
  return [
    ...mustBePositive(`${path}.maxSkew`, maxSkew),
    ...(topologyKey === '' ? [required(`${path}.topologyKey`, 'can not be empty')] : []),
    ...(actions.includes(whenUnsatisfiable)
      ? []
      : [notSupported(`${path}.whenUnsatisfiable`, whenUnsatisfiable, actions)]),
    ...(repeated ? [duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, topologyOf(constraint))] : []),
    ...(minDomains === undefined ? [] : validateDomains(minDomains, whenUnsatisfiable, `${path}.minDomains`)),
    ...Object.entries({ nodeAffinityPolicy, nodeTaintsPolicy }).flatMap(([name, policy]) =>
      policy === undefined || policies.includes(policy) ? [] : [notSupported(`${path}.${name}`, policy, policies)],
    ),
    ...validateSpreadKeys(matchLabelKeys, `${path}.matchLabelKeys`, labelSelector),
  ];
}

const validateDomains = (count: number, action: string, field: string): FieldError[] => [
  ...mustBePositive(field, count),
  ...(action === 'DoNotSchedule'
    ? []
    : [invalid(field, count, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`)]),
];

/** Unlike in pod affinity, a key may not also be in the selector. */
function validateSpreadKeys(keys: readonly string[], path: string, selector: LabelSelector | undefined): FieldError[] {
  const selected = new Set([
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  return [
    ...needsSelector(keys, path, selector),
    ...errorsOfEach(keys, (key, index) => [
      ...failing(isQualifiedName, `${path}[${index}]`, key),
      ...(selected.has(key)
        ? [invalid(`${path}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector')]
        : []),
    ]),
  ];
}
