import type { Dialect } from '../../dialect/dialect.ts';
import type { Kind } from '../kind.ts';
import { bindingColumns, bindingSchema, bindingStrategy } from './binding.ts';

const schema = bindingSchema(
  'ClusterRoleBinding',
  'Gives subjects the permissions of a cluster role everywhere: in all namespaces and outside of them.',
);

/** ClusterRoleBinding (spec section 5.8). */
export const clusterRoleBinding = (dialect: Dialect): Kind => {
  const group = dialect.group('rbac.authorization');
  return {
    group,
    version: 'v1',
    kind: 'ClusterRoleBinding',
    listKind: 'ClusterRoleBindingList',
    resource: 'clusterrolebindings',
    singular: 'clusterrolebinding',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    schema,
    nameFormat: 'pathSegment',
    selectableFields: [],
    columns: bindingColumns,
    strategy: bindingStrategy({ group, roleKinds: ['ClusterRole'], scope: 'Cluster' }),
    subresources: [],
    createOnUpdate: true,
    unconditionalUpdate: true,
    deleteReturnsObject: false,
    generation: false,
  };
};
