import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { type GoForms, shownAsGo } from '../../schema/go-text.ts';
import { always, enumOf, type Infer, int32, int64, intOrString, map, mergeList, opt, ptr, struct, time } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { validateAtMostAll, validateIntOrPercent } from '../core/pod/replaced-pods.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { condition, conditionsErrors } from '../meta/condition.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const budgetSpec = struct(
  'api.policy.v1.PodDisruptionBudgetSpec',
  'How many pods of a set may be missing at a time.',
  {
    minAvailable: ptr(1, intOrString(), 'Least number, or percentage, of pods that stay after an eviction.'),
    selector: ptr(2, labelSelector, 'Selects the pods; an empty one selects all of the namespace, none selects none.', { patchStrategy: 'replace' }),
    maxUnavailable: ptr(3, intOrString(), 'Greatest number, or percentage, of pods that are missing after an eviction. Not together with `minAvailable`.'),
    unhealthyPodEvictionPolicy: ptr(4, enumOf('AlwaysAllow', 'IfHealthyBudget'), 'When pods that run and are not ready may be evicted. Default: `IfHealthyBudget`.'),
  },
  { checkedFirst: ['minAvailable', 'maxUnavailable'] },
);

const forms: GoForms = {
  'api.policy.v1.PodDisruptionBudgetSpec': { types: { unhealthyPodEvictionPolicy: 'policy.UnhealthyPodEvictionPolicyType' } },
};

const budgetStatus = struct('api.policy.v1.PodDisruptionBudgetStatus', 'How many pods may be evicted now.', {
  observedGeneration: opt(1, int64(), 'The generation that the status is about. Nothing is evicted by the numbers of another one.'),
  disruptedPods: opt(2, map(time()), 'Pods whose eviction is under way, and since when.'),
  disruptionsAllowed: always(3, int32(), 'Number of pods that may be evicted now.'),
  currentHealthy: always(4, int32(), 'Number of healthy pods.'),
  desiredHealthy: always(5, int32(), 'Least number of healthy pods.'),
  expectedPods: always(6, int32(), 'Number of pods that there should be.'),
  conditions: opt(7, mergeList('type', condition, { duplicatesAllowed: true }), 'State of the budget.'),
});

const schema = kindSchema('api.policy.v1.PodDisruptionBudget', 'A limit on how many pods of a set are evicted at a time.', {
  spec: always(2, budgetSpec, 'What is wanted.'),
  status: always(3, budgetStatus, 'What there is.'),
});

/** The fields of a budget that was decoded. */
export const asBudget = (object: ApiObject): Infer<typeof schema> => typed(schema, object);

const specOf = (object: ApiObject): Infer<typeof budgetSpec> => asBudget(object).spec ?? {};

function validate(object: ApiObject): FieldError[] {
  const spec = specOf(object);
  const { minAvailable, maxUnavailable } = spec;
  return [
    ...(minAvailable !== undefined && maxUnavailable !== undefined ? [shownAsGo(invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set'), budgetSpec, forms)] : []),
    ...Object.entries({ minAvailable, maxUnavailable }).flatMap(([name, value]) => [...validateIntOrPercent(value, `spec.${name}`), ...validateAtMostAll(value, `spec.${name}`)]),
  ];
}

const notNegative = (value: number, path: string): FieldError[] => (value < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : []);

function validateStatus(object: ApiObject): FieldError[] {
  const { conditions = [], ...numbers } = asBudget(object).status ?? {};
  const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;
  return [...conditionsErrors(conditions, 'status.conditions'), ...counts.flatMap((name) => notNegative(numbers[name] ?? 0, `status.${name}`))];
}

const numberCell = (name: 'minAvailable' | 'maxUnavailable') => (object: ApiObject) => `${specOf(object)[name] ?? 'N/A'}`;

/** PodDisruptionBudget. As in kube-apiserver, its name may be any path segment. */
export const podDisruptionBudget = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('policy'),
    kind: 'PodDisruptionBudget',
    shortNames: ['pdb'],
    schema,
    nameFormat: 'pathSegment',
    columns: [
      nameColumn,
      column('Min Available', 'Least number of pods that stay.', numberCell('minAvailable')),
      column('Max Unavailable', 'Greatest number of pods that are missing.', numberCell('maxUnavailable')),
      column('Allowed Disruptions', 'Number of pods that may be evicted now.', { path: '.status.disruptionsAllowed', absent: 0 }, { type: 'integer' }),
      ageColumn,
    ],
    strategy: { prepareForCreate: clearStatus(schema), validateCreate: validate, validateUpdate: validate },
    subresources: [statusView(validateStatus)],
    unconditionalUpdate: false,
    generation: true,
  });
