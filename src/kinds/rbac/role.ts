import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { always, type Infer, list } from '../../schema/schema.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { policyRule, validateRules } from './policy-rule.ts';

const schema = kindSchema('api.rbac.v1.Role', 'Rules that can be bound to subjects within the namespace of the role.', {
  rules: always(2, list(policyRule), 'What the role allows.'),
});

type Role = Infer<typeof schema>;

/** Casts a decoded Role to its static type. */
export const asRole = (object: ApiObject): Role => typed(schema, object);

const validate = (object: ApiObject, old?: ApiObject): FieldError[] => validateRules(asRole(object).rules ?? [], 'Namespaced', (old && asRole(old).rules) ?? []);

/** Role (spec section 5.8). */
export const role = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('rbac.authorization'),
    kind: 'Role',
    schema,
    nameFormat: 'pathSegment',
    strategy: {
      validateCreate: (object) => validate(object),
      validateUpdate: (object, old) => validate(object, old),
    },
    createOnUpdate: true,
  });
