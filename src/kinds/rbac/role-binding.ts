import type { Dialect } from '../../dialect/dialect.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { bindingColumns, bindingSchema, bindingStrategy } from './binding.ts';

const schema = bindingSchema(
  'RoleBinding',
  'Gives subjects the permissions of a role, or of a cluster role, within the namespace of the binding.',
);

/** RoleBinding (spec section 5.8). */
export const roleBinding = (dialect: Dialect): Kind => {
  const group = dialect.group('rbac.authorization');
  return defineKind({
    group,
    kind: 'RoleBinding',
    schema,
    nameFormat: 'pathSegment',
    columns: bindingColumns,
    strategy: bindingStrategy({ group, roleKinds: ['Role', 'ClusterRole'], scope: 'Namespaced' }),
    createOnUpdate: true,
  });
};
