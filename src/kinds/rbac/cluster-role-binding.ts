import type { Dialect } from '../../dialect/dialect.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { bindingColumns, bindingSchema, bindingStrategy } from './binding.ts';

const schema = bindingSchema(
  'ClusterRoleBinding',
  'Gives subjects the permissions of a cluster role everywhere: in all namespaces and outside of them.',
);

/** ClusterRoleBinding (spec section 5.8). */
export const clusterRoleBinding = (dialect: Dialect): Kind => {
  const group = dialect.group('rbac.authorization');
  return defineKind({
    group,
    kind: 'ClusterRoleBinding',
    scope: 'Cluster',
    schema,
    nameFormat: 'pathSegment',
    columns: bindingColumns,
    strategy: bindingStrategy({ group, roleKinds: ['ClusterRole'], scope: 'Cluster' }),
    createOnUpdate: true,
  });
};
