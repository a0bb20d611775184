import type { Dialect } from '../../../dialect/dialect.ts';
import { groupAuthenticated, groupMasters, groupUnauthenticated } from '../../../request/user-info.ts';
import {
  aggregateLabel,
  type DefaultBinding,
  type DefaultRole,
  group,
  read,
  readWrite,
  rule,
  urls,
  write,
} from './policy-objects.ts';

/** User-facing roles, and what everyone may do (spec section 5.8). */
export const userFacingRoles = (dialect: Dialect): readonly DefaultRole[] => [
  { name: 'cluster-admin', rules: [rule('*', '*', { groups: ['*'] }), urls('*', '*')] },
  ...aggregatedRoles(dialect),
  ...aggregationSources(dialect),
  {
    name: 'system:discovery',
    rules: [urls('get', '/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/')],
  },
  { name: 'system:public-info-viewer', rules: [urls('get', '/healthz /livez /readyz /version /version/')] },
  {
    name: 'system:basic-user',
    rules: [
      rule('create', 'selfsubjectaccessreviews selfsubjectrulesreviews', { groups: [dialect.group('authorization')] }),
      rule('create', 'selfsubjectreviews', { groups: [dialect.group('authentication')] }),
    ],
  },
];

export const userFacingBindings: readonly DefaultBinding[] = [
  { name: 'cluster-admin', subjects: [group(groupMasters)] },
  { name: 'system:discovery', subjects: [group(groupAuthenticated)] },
  { name: 'system:basic-user', subjects: [group(groupAuthenticated)] },
  { name: 'system:public-info-viewer', subjects: [group(groupAuthenticated), group(groupUnauthenticated)] },
];

/** Aggregated roles, each of which includes the next. The aggregation controller fills in their rules. */
const aggregatedRoles = (dialect: Dialect): readonly DefaultRole[] => {
  const label = (to: 'admin' | 'edit' | 'view') => aggregateLabel(dialect, to);
  return [
    { name: 'admin', rules: [], sumOf: label('admin') },
    { name: 'edit', rules: [], sumOf: label('edit'), labels: { [label('admin')]: 'true' } },
    { name: 'view', rules: [], sumOf: label('view'), labels: { [label('edit')]: 'true' } },
  ];
};

const aggregationSources = (dialect: Dialect): readonly DefaultRole[] => [
  {
    name: 'system:aggregate-to-admin',
    labels: { [aggregateLabel(dialect, 'admin')]: 'true' },
    rules: [
      rule('create', 'localsubjectaccessreviews', { groups: [dialect.group('authorization')] }),
      rule(readWrite, 'rolebindings roles', { groups: [dialect.group('rbac.authorization')] }),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    labels: { [aggregateLabel(dialect, 'edit')]: 'true' },
    rules: editRules(dialect),
  },
  {
    name: 'system:aggregate-to-view',
    labels: { [aggregateLabel(dialect, 'view')]: 'true' },
    rules: viewRules(dialect),
  },
];

/** No write access to endpoints: it would allow redirecting other users' traffic (CVE-2021-25740). */
const editRules = (dialect: Dialect) => [
  // Not part of `view`: secrets hold credentials, and the others can run programs.
  rule(read, 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
  rule('impersonate', 'serviceaccounts'),
  rule(write, 'pods pods/attach pods/exec pods/portforward pods/proxy'),
  rule('create', 'pods/eviction'),
  rule(
    write,
    'configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
  ),
  rule('create', 'serviceaccounts/token'),
  rule(
    write,
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
    { groups: [dialect.group('apps')] },
  ),
  rule(write, 'horizontalpodautoscalers', { groups: [dialect.group('autoscaling')] }),
  rule(write, 'cronjobs jobs', { groups: [dialect.group('batch')] }),
  rule(
    write,
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
    { groups: [dialect.group('extensions')] },
  ),
  rule(write, 'poddisruptionbudgets', { groups: [dialect.group('policy')] }),
  rule(write, 'ingresses networkpolicies', { groups: [dialect.group('networking')] }),
  rule(readWrite, 'leases', { groups: [dialect.group('coordination')] }),
];

/** Neither secrets nor roles: reading secrets would allow acting as others. */
const viewRules = (dialect: Dialect) => [
  rule(
    read,
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
  ),
  rule(
    read,
    'bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
  ),
  // Bound in a namespace, it allows reading that namespace only.
  rule(read, 'namespaces'),
  rule(read, 'endpointslices', { groups: [dialect.group('discovery')] }),
  rule(
    read,
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    { groups: [dialect.group('apps')] },
  ),
  rule(read, 'horizontalpodautoscalers horizontalpodautoscalers/status', { groups: [dialect.group('autoscaling')] }),
  rule(read, 'cronjobs cronjobs/status jobs jobs/status', { groups: [dialect.group('batch')] }),
  rule(
    read,
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    { groups: [dialect.group('extensions')] },
  ),
  rule(read, 'poddisruptionbudgets poddisruptionbudgets/status', { groups: [dialect.group('policy')] }),
  rule(read, 'ingresses ingresses/status networkpolicies', { groups: [dialect.group('networking')] }),
];
