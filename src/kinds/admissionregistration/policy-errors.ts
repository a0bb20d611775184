import { duplicate, errorsOfEach, type FieldError, forbidden, invalid, notSupportedOf, required } from '../../meta/field-error.ts';
import { isDns1035Label, isDnsSubdomain, isPathSegment } from '../../meta/formats.ts';
import type { ExpressionCheck } from './expression-errors.ts';
import { failurePolicies, matchPolicies } from './policy-names.ts';
import type { MatchResources, ParamKind, ParamRef, Variable } from './policy-schema.ts';
import { ruleErrors } from './rule-errors.ts';

/** Errors of what policies of both kinds have, and their bindings, in the words of kube-apiserver 1.32. */

/** A choice that must be made; defaults make it where the client does not. */
export function choiceErrors(value: string | undefined, choices: readonly string[], path: string): FieldError[] {
  if (value === undefined) return [required(path)];
  return choices.includes(value) ? [] : [notSupportedOf(path, value, choices)];
}

export const failurePolicyErrors = (value: string | undefined): FieldError[] => choiceErrors(value, failurePolicies, 'spec.failurePolicy');

export function paramKindErrors({ apiVersion = '', kind = '' }: ParamKind, path: string): FieldError[] {
  return [...apiVersionErrors(apiVersion, `${path}.apiVersion`), ...kindErrors(kind, `${path}.kind`)];
}

function apiVersionErrors(apiVersion: string, path: string): FieldError[] {
  if (apiVersion === '') return [required(path)];
  const parts = apiVersion.split('/');
  if (parts.length > 2) return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const [version = '', group = ''] = parts.reverse();
  return [
    ...(group === '' ? [] : joined(isDnsSubdomain(group), path, group)),
    ...(version === '' ? [invalid(path, apiVersion, 'version must be specified')] : joined(isDns1035Label(version), path, version)),
  ];
}

function kindErrors(kind: string, path: string): FieldError[] {
  if (kind === '') return [required(path)];
  const problems = isDns1035Label(kind.toLowerCase());
  return problems.length === 0 ? [] : [invalid(path, kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`)];
}

const joined = (problems: readonly string[], path: string, value: string): FieldError[] => (problems.length === 0 ? [] : [invalid(path, value, problems.join(','))]);

/** `matchConstraints` of a policy: it says at least of which resources it is. */
export function matchConstraintsErrors(constraints: MatchResources | undefined): FieldError[] {
  const path = 'spec.matchConstraints';
  if (!constraints) return [required(path)];
  const { resourceRules = [] } = constraints;
  return [...matchResourcesErrors(constraints, path), ...(resourceRules.length === 0 ? [required(`${path}.resourceRules`)] : [])];
}

export function matchResourcesErrors(resources: MatchResources | undefined, path: string): FieldError[] {
  if (!resources) return [];
  const { matchPolicy, resourceRules = [], excludeResourceRules = [] } = resources;
  return [
    ...choiceErrors(matchPolicy, matchPolicies, `${path}.matchPolicy`),
    ...errorsOfEach(resourceRules, (rule, index) => namedRuleErrors(rule, `${path}.resourceRules[${index}]`)),
    ...errorsOfEach(excludeResourceRules, (rule, index) => namedRuleErrors(rule, `${path}.excludeResourceRules[${index}]`)),
  ];
}

type NamedRule = NonNullable<MatchResources['resourceRules']>[number];

function namedRuleErrors({ resourceNames = [], ...rule }: NamedRule, path: string): FieldError[] {
  const seen = new Set<string>();
  const errors = errorsOfEach(resourceNames, (name, index) => {
    const at = `${path}.resourceNames[${index}]`;
    const isDuplicate = seen.has(name);
    seen.add(name);
    return [...isPathSegment(name).map((problem) => invalid(at, name, problem)), ...(isDuplicate ? [duplicate(at, name)] : [])];
  });
  return [...errors, ...ruleErrors(rule, path)];
}

export function policyNameErrors(name: string, path: string): FieldError[] {
  return name === '' ? [required(path)] : isDnsSubdomain(name).map((problem) => invalid(path, name, problem));
}

const notFoundActions = ['Deny', 'Allow'];

export function paramRefErrors(ref: ParamRef | undefined, path: string): FieldError[] {
  if (!ref) return [];
  const { name = '', selector, parameterNotFoundAction } = ref;
  const both = name !== '' && selector !== undefined ? 'name and selector are mutually exclusive' : undefined;
  return [
    ...(name === '' ? [] : isPathSegment(name).map((problem) => invalid(`${path}.name`, name, problem))),
    ...(both === undefined ? [] : [forbidden(`${path}.name`, both), forbidden(`${path}.selector`, both)]),
    ...(name === '' && selector === undefined ? [required(path, 'one of name or selector must be specified')] : []),
    ...choiceErrors(parameterNotFoundAction || undefined, notFoundActions, `${path}.parameterNotFoundAction`),
  ];
}

/** Names that mean something else in an expression. */
const reserved = new Set('true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '));

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);

export function variablesErrors(variables: readonly Variable[]): FieldError[] {
  return errorsOfEach(variables, ({ name = '', expression = '' }, index) => {
    const path = `spec.variables[${index}]`;
    return [
      ...(name.trim() === '' ? [required(`${path}.name`, 'name is not specified')] : isIdentifier(name) ? [] : [invalid(`${path}.name`, name, 'name is not a valid CEL identifier')]),
      ...(expression.trim() === '' ? [required(`${path}.expression`, 'expression is not specified')] : []),
    ];
  });
}

/** The expressions of variables, which must compile; those after them see them. */
export const variableChecks = (variables: readonly Variable[]): readonly ExpressionCheck[] =>
  variables.flatMap(({ name = '', expression = '' }, index) =>
    expression.trim() === '' ? [] : [{ path: `spec.variables[${index}].expression`, source: expression, role: 'variable' as const, variable: name }],
  );
