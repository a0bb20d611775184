import { errorsOfEach, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { allErrors, type Validation } from '../validation.ts';
import { conditionChecks, conditionErrors, keepsConditions } from './condition-errors.ts';
import { type ExpressionCheck, expressionErrors } from './expression-errors.ts';
import type { MutatingBindingSpec, MutatingPolicySpec, Mutation } from './mutating-policy-schema.ts';
import {
  choiceErrors,
  failurePolicyErrors,
  matchConstraintsErrors,
  matchResourcesErrors,
  paramKindErrors,
  paramRefErrors,
  policyNameErrors,
  variableChecks,
  variablesErrors,
} from './policy-errors.ts';
import { reinvocationPolicies } from './policy-names.ts';
import type { MatchResources } from './policy-schema.ts';

/** Errors of a policy, in the words of kube-apiserver 1.32. */
export function mutatingPolicyErrors(spec: MutatingPolicySpec, stored: MutatingPolicySpec | undefined): Validation {
  const { paramKind, matchConstraints, matchConditions = [], variables = [], mutations = [], failurePolicy, reinvocationPolicy } = spec;
  const hasParams = paramKind !== undefined;
  const conditionsPath = 'spec.matchConditions';
  const conditions = stored && keepsConditions(spec, stored) ? [] : matchConditions;
  return allErrors(
    failurePolicyErrors(failurePolicy),
    paramKind && paramKindErrors(paramKind, 'spec.paramKind'),
    matchConstraintsErrors(matchConstraints),
    operationsErrors(matchConstraints, 'spec.matchConstraints'),
    conditionErrors(conditions, conditionsPath),
    variablesErrors(variables),
    mutationsErrors(mutations),
    choiceErrors(reinvocationPolicy, reinvocationPolicies, 'spec.reinvocationPolicy'),
    expressionErrors(conditionChecks(conditions, conditionsPath), { hasParams }),
    expressionErrors([...variableChecks(variables), ...mutations.flatMap(mutationChecks)], { hasParams, hasVariables: true }),
  );
}

const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** Nothing is left to be changed of what is deleted. */
function operationsErrors(resources: MatchResources | undefined, path: string): FieldError[] {
  const named = (resources?.resourceRules ?? []).flatMap((rule) => rule.operations ?? []);
  return errorsOfEach(named, (each) => (operations.includes(each) ? [] : [notSupported(`${path}.resourceRules.operations`, each, operations)]));
}

const patchTypes = ['ApplyConfiguration', 'JSONPatch'];

function mutationsErrors(mutations: readonly Mutation[]): FieldError[] {
  if (mutations.length === 0) return [required('spec.mutations', 'mutations must contain at least one item')];
  return errorsOfEach(mutations, (mutation, index) => mutationErrors(mutation, `spec.mutations[${index}]`));
}

function mutationErrors({ patchType = '', applyConfiguration, jsonPatch }: Mutation, path: string): FieldError[] {
  const [apply, patch] = [
    { field: 'applyConfiguration', value: applyConfiguration },
    { field: 'jsonPatch', value: jsonPatch },
  ];
  switch (patchType) {
    case '':
      return [required(`${path}.patchType`)];
    case 'ApplyConfiguration':
      return memberErrors(apply, patch, patchType, path);
    case 'JSONPatch':
      return memberErrors(patch, apply, patchType, path);
    default:
      return [notSupported(`${path}.patchType`, patchType, patchTypes)];
  }
}

interface Member {
  readonly field: string;
  readonly value: { readonly expression?: string } | undefined;
}

function memberErrors(wanted: Member, other: Member, patchType: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!wanted.value) errors.push(required(`${path}.${wanted.field}`, `must be specified when patchType is ${patchType}`));
  else if ((wanted.value.expression ?? '').trim() === '') errors.push(required(`${path}.${wanted.field}.expression`));
  if (other.value) errors.push(invalid(`${path}.${other.field}`, `{${other.field}}`, `must not be specified when patchType is ${patchType}`));
  return errors;
}

function mutationChecks({ patchType, applyConfiguration, jsonPatch }: Mutation, index: number): readonly ExpressionCheck[] {
  const [field, value, role] = patchType === 'JSONPatch' ? (['jsonPatch', jsonPatch, 'jsonPatch'] as const) : (['applyConfiguration', applyConfiguration, 'applyConfiguration'] as const);
  const { expression: source = '' } = value ?? {};
  return source.trim() === '' ? [] : [{ path: `spec.mutations[${index}].${field}.expression`, source, role }];
}

/** Errors of a binding, in the words of kube-apiserver 1.32. */
export function mutatingBindingErrors({ policyName = '', paramRef, matchResources }: MutatingBindingSpec): FieldError[] {
  const path = 'spec.matchResources';
  return [...policyNameErrors(policyName, 'spec.policyName'), ...paramRefErrors(paramRef, 'spec.paramRef'), ...matchResourcesErrors(matchResources, path), ...operationsErrors(matchResources, path)];
}
