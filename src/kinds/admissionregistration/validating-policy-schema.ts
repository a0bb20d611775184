import { always, documentedEnum, type Infer, int64, list, mergeList, opt, ptr, string, struct } from '../../schema/schema.ts';
import { condition } from '../meta/condition.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { type ApiVersion, definitionName, namedValues, policyParts } from './policy-schema.ts';

/** Schemas of ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding in a version. */
export function validatingPolicySchemas(version: ApiVersion) {
  const { matchResources, paramKind, paramRef, variable, matchConditions } = policyParts(version);
  const validation = struct(definitionName(version, 'Validation'), 'A rule that objects must meet.', {
    expression: always(1, string(), 'CEL expression of type bool. False is a refusal.'),
    message: opt(2, string(), 'Says why, in one line. Default: the expression.'),
    reason: ptr(3, string(), 'Machine-readable reason, which determines the status code: `Forbidden`, `Invalid` or `RequestEntityTooLarge`. Default: `Invalid`.'),
    messageExpression: opt(4, string(), 'CEL expression of type string, in the place of `message`. It may not use `authorizer`.'),
  });
  const auditAnnotation = struct(definitionName(version, 'AuditAnnotation'), 'An annotation of the audit events of requests.', {
    key: always(1, string(), 'Key of the annotation; the name of the policy and a slash come before it.'),
    valueExpression: always(2, string(), 'CEL expression of its value; null means that there is none.'),
  });
  const spec = struct(definitionName(version, 'ValidatingAdmissionPolicySpec'), 'What a policy demands, and of which requests.', {
    paramKind: ptr(1, paramKind, 'The kind of the objects that parameterize the policy: `params` in expressions.'),
    matchConstraints: ptr(2, matchResources, 'The requests that it judges. Policies and their bindings are never judged by policies.'),
    validations: opt(3, list(validation), 'The rules; there must be some, or audit annotations.'),
    failurePolicy: ptr(4, namedValues(version, 'Fail', 'Ignore'), 'What a failed evaluation means: `Fail` refuses the request, `Ignore` lets it pass.', { default: 'Fail' }),
    auditAnnotations: opt(5, list(auditAnnotation), 'Annotations of the audit events of the requests.'),
    matchConditions,
    variables: opt(7, mergeList('name', variable, { duplicatesAllowed: true }), 'Expressions for use in others; evaluated when they are needed.'),
  });
  const expressionWarning = struct(definitionName(version, 'ExpressionWarning'), 'What is wrong with an expression.', {
    fieldRef: always(2, string(), 'Path of the expression: `spec.validations[0].expression`.'),
    warning: always(3, string(), 'The errors, with the types for which they hold.'),
  });
  const typeChecking = struct(definitionName(version, 'TypeChecking'), 'Result of checking expressions against the schemas of the matched types.', {
    expressionWarnings: opt(1, list(expressionWarning), 'Expressions that do not fit a type.'),
  });
  const status = struct(definitionName(version, 'ValidatingAdmissionPolicyStatus'), 'What is known about a policy.', {
    observedGeneration: opt(1, int64(), 'The `metadata.generation` that the status is about.'),
    typeChecking: ptr(2, typeChecking, 'Result of checking the types of expressions; absent until they have been checked.'),
    conditions: opt(3, list(condition, { listType: 'map', mapKeys: ['type'], duplicatesAllowed: true }), 'Aspects of its state.'),
  });
  const bindingSpec = struct(definitionName(version, 'ValidatingAdmissionPolicyBindingSpec'), 'Which policy is enforced, on which requests, and how.', {
    policyName: opt(1, string(), 'Name of the policy. A binding to none is without effect.'),
    paramRef: ptr(2, paramRef, 'The objects that parameterize the policy.'),
    matchResources: ptr(3, matchResources, 'Limits the requests further than the policy does.'),
    validationActions: opt(
      4,
      list(documentedEnum('Audit', 'Deny', 'Warn'), { listType: 'set', duplicatesAllowed: true }),
      'What a failed rule causes: `Deny` refuses the request, `Warn` warns its sender, `Audit` annotates its audit event. `Deny` and `Warn` exclude each other.',
    ),
  });
  return {
    policy: kindSchema(definitionName(version, 'ValidatingAdmissionPolicy'), 'Rules in CEL that requests must meet. A binding puts it into force.', {
      spec: always(2, spec, 'The rules.'),
      status: always(3, status, 'What the server knows about it.'),
    }),
    binding: kindSchema(definitionName(version, 'ValidatingAdmissionPolicyBinding'), 'Puts a policy into force.', {
      spec: always(2, bindingSpec, 'What is enforced.'),
    }),
  };
}

type Schemas = ReturnType<typeof validatingPolicySchemas>;

export type ValidatingPolicy = Infer<Schemas['policy']>;
export type ValidatingPolicySpec = NonNullable<ValidatingPolicy['spec']>;
export type ValidatingPolicyStatus = NonNullable<ValidatingPolicy['status']>;
export type ValidatingBindingSpec = NonNullable<Infer<Schemas['binding']>['spec']>;
