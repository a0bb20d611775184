import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, required as requiredError } from '../../meta/field-error.ts';
import { always, type Infer, list, opt, ptr, struct } from '../../schema/schema.ts';
import { validate as validateBySchema } from '../../schema/validate.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { typed } from '../typed.ts';
import { policyRule, validateRules } from './policy-rule.ts';

const aggregationRule = struct('api.rbac.v1.AggregationRule', 'Which cluster roles a cluster role is the sum of.', {
  clusterRoleSelectors: opt(1, list(labelSelector), 'The rules of every cluster role that one of these selects are added.'),
});

const schema = kindSchema('api.rbac.v1.ClusterRole', 'Rules that can be bound to subjects in the whole cluster or in any namespace.', {
  rules: always(2, list(policyRule), 'What the role allows.'),
  aggregationRule: ptr(3, aggregationRule, 'Where it is set, a controller fills in the rules.'),
});

export type ClusterRole = Infer<typeof schema>;
export type AggregationRule = Infer<typeof aggregationRule>;

/** Casts a decoded ClusterRole to its static type. */
export const asClusterRole = (object: ApiObject): ClusterRole => typed(schema, object);

function validate(object: ApiObject, old?: ApiObject): FieldError[] {
  const { rules = [], aggregationRule } = asClusterRole(object);
  return [...validateRules(rules, 'Cluster', (old && asClusterRole(old).rules) ?? []), ...(aggregationRule ? validateAggregation(aggregationRule, 'aggregationRule.clusterRoleSelectors') : [])];
}

function validateAggregation({ clusterRoleSelectors = [] }: AggregationRule, path: string): FieldError[] {
  if (clusterRoleSelectors.length === 0) return [requiredError(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return errorsOfEach(clusterRoleSelectors, (selector, index) =>
    // The published text shows a selector that could not be made.
    validateBySchema(labelSelector, selector).length === 0 ? [] : [invalid(`${path}[${index}]`, 'null', 'invalid label selector.')],
  );
}

/** ClusterRole (spec section 5.8). */
export const clusterRole = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('rbac.authorization'),
    kind: 'ClusterRole',
    scope: 'Cluster',
    schema,
    nameFormat: 'pathSegment',
    strategy: {
      validateCreate: (object) => validate(object),
      validateUpdate: (object, old) => validate(object, old),
    },
    createOnUpdate: true,
  });
