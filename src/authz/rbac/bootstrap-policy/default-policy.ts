import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { componentBindings, componentRoles } from './component-roles.ts';
import { controllerBindings, controllerRoles } from './controller-roles.ts';
import { namespaceRoles } from './namespace-roles.ts';
import { clusterBindingObject, clusterRoleObject } from './policy-objects.ts';
import { userFacingBindings, userFacingRoles } from './user-facing-roles.ts';

/**
 * The default roles and bindings (spec section 5.8): those of Kubernetes 1.32 with its default feature gates, plus that nodes
 * may read ClusterTrustBundles. Roles precede their bindings.
 */
export const defaultPolicy = (dialect: Dialect): readonly ApiObject[] => [
  ...[...userFacingRoles(dialect), ...componentRoles(dialect), ...controllerRoles(dialect)].map((role) =>
    clusterRoleObject(dialect, role),
  ),
  ...[...userFacingBindings, ...componentBindings(dialect), ...controllerBindings(dialect)].map((binding) =>
    clusterBindingObject(dialect, binding),
  ),
  ...namespaceRoles(dialect),
];
