import { always, documentedEnum, type Infer, inline, list, mergeList, opt, ptr, type StringSchema, string, struct } from '../../schema/schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { matchCondition, matchConditionOf } from './match-condition.ts';
import { ruleWithOperations } from './rule.ts';

/** A version of the API group: each has definitions of its own, which are alike. */
export type ApiVersion = 'v1' | 'v1beta1' | 'v1alpha1';

export const definitionName = (version: ApiVersion, name: string): string => `api.admissionregistration.${version}.${name}`;

/** A string of which documents name the values, but in v1beta1, where its type is not marked as an enumeration. */
export const namedValues = (version: ApiVersion, ...values: readonly string[]): StringSchema => (version === 'v1beta1' ? string() : documentedEnum(...values));

/** Parts that policies of both kinds, and their bindings, have in a version. */
export function policyParts(version: ApiVersion) {
  const namedRule = struct(
    definitionName(version, 'NamedRuleWithOperations'),
    'Operations on resources, or on objects of them by name.',
    {
      resourceNames: opt(1, list(string()), 'Names of the objects; none means all objects.'),
      ...inline(2, ruleWithOperations),
    },
    { structType: 'atomic' },
  );
  const matchResources = struct(
    definitionName(version, 'MatchResources'),
    'Requests, by resource and by labels.',
    {
      namespaceSelector: ptr(1, labelSelector, 'Selects namespaces, by whose labels requests for their objects and for themselves match. Other cluster-scoped objects always match.', { default: {} }),
      objectSelector: ptr(2, labelSelector, 'Selects objects by their labels: the new or the old one must match. Who may write the objects may evade the policy.', { default: {} }),
      resourceRules: opt(3, list(namedRule), 'Requests match that one of these matches.'),
      excludeResourceRules: opt(4, list(namedRule), 'Requests that one of these matches do not match.'),
      matchPolicy: ptr(
        7,
        namedValues(version, 'Equivalent', 'Exact'),
        '`Exact`: the rules match requests as they are sent. `Equivalent`: also those for another version of the same resource, which are converted.',
        {
          default: 'Equivalent',
        },
      ),
    },
    { structType: 'atomic' },
  );
  const paramKind = struct(
    definitionName(version, 'ParamKind'),
    'The kind of the objects that parameterize a policy.',
    {
      apiVersion: opt(1, string(), 'Group and version of the kind.'),
      kind: opt(2, string(), 'Name of the kind.'),
    },
    { structType: 'atomic' },
  );
  const paramRef = struct(
    definitionName(version, 'ParamRef'),
    'The objects that parameterize a policy: by name or by labels.',
    {
      name: opt(1, string(), 'Name of the object.'),
      namespace: opt(2, string(), 'Namespace of the objects. Default: that of the request.'),
      selector: ptr(3, labelSelector, 'Selects objects by their labels; the policy is evaluated for each of them.'),
      parameterNotFoundAction: ptr(
        4,
        string(),
        'What is done if there is none: `Allow` lets the request pass, `Deny` applies the `failurePolicy` of the policy.',
        version === 'v1alpha1' ? { default: 'Deny' } : {},
      ),
    },
    { structType: 'atomic' },
  );
  const variable = struct(
    definitionName(version, 'Variable'),
    'A named expression, for use in others.',
    {
      name: always(1, string(), 'Name of the variable: `x` is used as `variables.x`.'),
      expression: always(2, string(), 'CEL expression. It may use the variables before it.'),
    },
    { structType: 'atomic' },
  );
  const matchConditions = opt(
    6,
    mergeList('name', version === 'v1' ? matchCondition : matchConditionOf(version), { duplicatesAllowed: true }),
    'Conditions that must all hold for an evaluation, 64 at most. One that is false outweighs one that fails; of those that fail, `failurePolicy` decides.',
  );
  return { matchResources, paramKind, paramRef, variable, matchConditions };
}

type Parts = ReturnType<typeof policyParts>;

export type MatchResources = Infer<Parts['matchResources']>;
export type ParamKind = Infer<Parts['paramKind']>;
export type ParamRef = Infer<Parts['paramRef']>;
export type Variable = Infer<Parts['variable']>;
