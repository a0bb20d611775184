import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { keepMetadata, keepSpec } from '../meta/status-view.ts';
import { renamedFields } from '../stored-as.ts';
import { bindingColumns, policyColumns } from './policy-columns.ts';
import { policyStatusErrors, validatingBindingErrors, validatingPolicyErrors } from './validating-policy-errors.ts';
import { type ValidatingBindingSpec, type ValidatingPolicy, type ValidatingPolicySpec, validatingPolicySchemas } from './validating-policy-schema.ts';

const stable = validatingPolicySchemas('v1');
const beta = validatingPolicySchemas('v1beta1');

const specOf = (object: ApiObject): ValidatingPolicySpec => (object as ApiObject & ValidatingPolicy).spec ?? {};
const bindingSpecOf = (object: ApiObject): ValidatingBindingSpec => (object as ApiObject & { readonly spec?: ValidatingBindingSpec }).spec ?? {};

/** ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding (KEP-3488), in all versions. */
export const validatingAdmissionPolicies = (dialect: Dialect): readonly Kind[] => {
  const shared = { group: dialect.group('admissionregistration'), categories: ['api-extensions'], scope: 'Cluster', unconditionalUpdate: false, generation: true } as const;
  const policy = defineKind({
    ...shared,
    kind: 'ValidatingAdmissionPolicy',
    resource: 'validatingadmissionpolicies',
    schema: stable.policy,
    columns: policyColumns('Validations', 'Number of rules.', '.spec.validations'),
    strategy: {
      prepareForCreate(object) {
        object['status'] = {};
      },
      validateCreate: (object) => validatingPolicyErrors(object.metadata.name ?? '', specOf(object), undefined),
      validateUpdate: (object, old) => validatingPolicyErrors(object.metadata.name ?? '', specOf(object), specOf(old)),
    },
    subresources: [
      {
        type: 'view',
        name: 'status',
        verbs: ['get', 'update', 'patch'],
        prepareForUpdate(object, old) {
          keepSpec(object, old);
          keepMetadata(object, old);
        },
        resetFields: [['spec'], ['metadata']],
        validateUpdate: (object) => policyStatusErrors((object as ApiObject & ValidatingPolicy).status ?? {}),
      },
    ],
  });
  const binding = defineKind({
    ...shared,
    kind: 'ValidatingAdmissionPolicyBinding',
    schema: stable.binding,
    columns: bindingColumns,
    strategy: {
      validateCreate: (object) => validatingBindingErrors(bindingSpecOf(object)),
      validateUpdate: (object) => validatingBindingErrors(bindingSpecOf(object)),
    },
  });
  return [policy, binding, betaOf(policy, beta.policy), betaOf(binding, beta.binding)];
};

/** The same as beta. */
function betaOf(stored: Kind, schema: Kind['schema']): Kind {
  const name = { group: stored.group, version: 'v1beta1', kind: stored.kind };
  return { ...stored, ...name, schema, offByDefault: true, deprecated: { release: '1.31', removedRelease: '1.34', namesNoOther: true }, storedAs: renamedFields(stored, name, {}) };
}
