import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { mutatingBindingErrors, mutatingPolicyErrors } from './mutating-policy-errors.ts';
import { type MutatingBindingSpec, type MutatingPolicySpec, mutatingBindingSchema, mutatingPolicySchema } from './mutating-policy-schema.ts';
import { bindingColumns, policyColumns } from './policy-columns.ts';

const specOf = (object: ApiObject): MutatingPolicySpec => (object as ApiObject & { readonly spec?: MutatingPolicySpec }).spec ?? {};
const bindingSpecOf = (object: ApiObject): MutatingBindingSpec => (object as ApiObject & { readonly spec?: MutatingBindingSpec }).spec ?? {};

/** MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding (KEP-3962). */
export const mutatingAdmissionPolicies = (dialect: Dialect): readonly Kind[] => {
  const shared = {
    group: dialect.group('admissionregistration'),
    version: 'v1alpha1',
    offByDefault: true,
    categories: ['api-extensions'],
    scope: 'Cluster',
    unconditionalUpdate: false,
    generation: true,
  } as const;
  const policy = defineKind({
    ...shared,
    kind: 'MutatingAdmissionPolicy',
    resource: 'mutatingadmissionpolicies',
    schema: mutatingPolicySchema,
    columns: policyColumns('Mutations', 'Number of changes.', '.spec.mutations'),
    strategy: {
      validateCreate: (object) => mutatingPolicyErrors(specOf(object), undefined),
      validateUpdate: (object, old) => mutatingPolicyErrors(specOf(object), specOf(old)),
    },
  });
  const binding = defineKind({
    ...shared,
    kind: 'MutatingAdmissionPolicyBinding',
    schema: mutatingBindingSchema,
    columns: bindingColumns,
    strategy: {
      validateCreate: (object) => mutatingBindingErrors(bindingSpecOf(object)),
      validateUpdate: (object) => mutatingBindingErrors(bindingSpecOf(object)),
    },
  });
  return [policy, binding];
};
