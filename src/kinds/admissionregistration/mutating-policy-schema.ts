import { always, documentedEnum, type Infer, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { definitionName, policyParts } from './policy-schema.ts';

const version = 'v1alpha1';
const { matchResources, paramKind, paramRef, variable, matchConditions } = policyParts(version);

const applyConfiguration = struct(definitionName(version, 'ApplyConfiguration'), 'A configuration that is applied to objects.', {
  expression: opt(1, string(), 'CEL expression of the configuration: `Object{spec: Object.spec{...}}`.'),
});

const jsonPatch = struct(definitionName(version, 'JSONPatch'), 'A JSON patch of objects.', {
  expression: opt(1, string(), 'CEL expression of a list of operations: `[JSONPatch{op: "add", path: "/spec/x", value: 1}]`.'),
});

const mutation = struct(definitionName(version, 'Mutation'), 'A change of objects.', {
  patchType: always(2, string(), '`ApplyConfiguration` or `JSONPatch`: which of the other fields is set.'),
  applyConfiguration: ptr(3, applyConfiguration, 'Is merged into the object, as in server-side apply.'),
  jsonPatch: ptr(4, jsonPatch, 'Changes the object by operations on paths.'),
});

const spec = struct(definitionName(version, 'MutatingAdmissionPolicySpec'), 'What a policy changes, and in which requests.', {
  paramKind: ptr(1, paramKind, 'The kind of the objects that parameterize the policy: `params` in expressions.'),
  matchConstraints: ptr(2, matchResources, 'The requests whose objects it changes. Policies and their bindings are never changed by policies, and deletions change nothing.'),
  variables: opt(3, list(variable), 'Expressions for use in others; evaluated when they are needed.'),
  mutations: opt(4, list(mutation), 'The changes, in their order; there must be one.'),
  failurePolicy: ptr(5, documentedEnum('Fail', 'Ignore'), 'What a failed evaluation means: `Fail` refuses the request, `Ignore` lets it pass.', { default: 'Fail' }),
  matchConditions,
  reinvocationPolicy: opt(7, string(), '`Never`: objects are changed once in a request. `IfNeeded`: again, if others have changed the object after that.'),
});

const bindingSpec = struct(definitionName(version, 'MutatingAdmissionPolicyBindingSpec'), 'Which policy is in force, and for which requests.', {
  policyName: opt(1, string(), 'Name of the policy. A binding to none is without effect.'),
  paramRef: ptr(2, paramRef, 'The objects that parameterize the policy.'),
  matchResources: ptr(3, matchResources, 'Limits the requests further than the policy does.'),
});

export const mutatingPolicySchema = kindSchema(definitionName(version, 'MutatingAdmissionPolicy'), 'Changes of objects in CEL. A binding puts it into force.', {
  spec: always(2, spec, 'The changes.'),
});
export const mutatingBindingSchema = kindSchema(definitionName(version, 'MutatingAdmissionPolicyBinding'), 'Puts a policy into force.', { spec: always(2, bindingSpec, 'What is in force.') });

export type MutatingPolicySpec = Infer<typeof spec>;
export type MutatingBindingSpec = Infer<typeof bindingSpec>;
export type Mutation = Infer<typeof mutation>;
