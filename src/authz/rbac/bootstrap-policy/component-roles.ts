import { components } from '../../../dialect/components.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { signerNames } from '../../../dialect/signer-names.ts';
import type { PolicyRule } from '../../../kinds/rbac/policy-rule.ts';
import {
  account,
  type DefaultBinding,
  type DefaultRole,
  group,
  read,
  recordEvents,
  rule,
  urls,
  user,
} from './policy-objects.ts';

/** Roles of the cluster components and of monitoring (spec section 5.8). */
export const componentRoles = (dialect: Dialect): readonly DefaultRole[] => {
  const { aggregator, dns, nodeAgent, scheduler } = components(dialect);
  const storage = { groups: [dialect.group('storage')] };
  const certificates = { groups: [dialect.group('certificates')] };
  return [
    {
      name: 'system:monitoring',
      rules: [urls('get', '/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*')],
    },
    {
      name: 'system:heapster',
      rules: [
        rule(read, 'events namespaces nodes pods'),
        rule(read, 'deployments', { groups: [dialect.group('extensions')] }),
      ],
    },
    { name: 'system:node', rules: nodeRules(dialect) },
    {
      name: 'system:node-problem-detector',
      rules: [rule('get', 'nodes'), rule('patch', 'nodes/status'), recordEvents(dialect)],
    },
    {
      name: 'system:node-proxier',
      rules: [
        rule('list watch', 'endpoints services'),
        rule(read, 'nodes'),
        recordEvents(dialect),
        rule('list watch', 'endpointslices', { groups: [dialect.group('discovery')] }),
      ],
    },
    {
      name: `system:${nodeAgent}-api-admin`,
      rules: [
        rule(read, 'nodes'),
        rule('proxy', 'nodes'),
        rule('*', 'nodes/log nodes/metrics nodes/proxy nodes/stats'),
      ],
    },
    {
      name: 'system:node-bootstrapper',
      rules: [rule(`create ${read}`, 'certificatesigningrequests', certificates)],
    },
    { name: 'system:auth-delegator', rules: [...reviewOthers(dialect)] },
    { name: `system:${aggregator}`, rules: [rule(read, 'endpoints services')] },
    { name: `system:${dialect.controllerManager}`, rules: controllerManagerRules(dialect) },
    { name: `system:${dns}`, rules: [rule('list watch', 'endpoints services')] },
    { name: `system:${scheduler}`, rules: schedulerRules(dialect, scheduler) },
    {
      name: 'system:persistent-volume-provisioner',
      rules: [
        rule(`${read} create delete`, 'persistentvolumes'),
        rule(`${read} update`, 'persistentvolumeclaims'),
        rule(read, 'storageclasses', storage),
        rule('watch', 'events'),
        recordEvents(dialect),
      ],
    },
    {
      name: 'system:volume-scheduler',
      rules: [
        rule(`${read} patch update`, 'persistentvolumes'),
        rule(read, 'storageclasses', storage),
        rule(`${read} patch update`, 'persistentvolumeclaims'),
      ],
    },
    {
      name: 'system:service-account-issuer-discovery',
      rules: [urls('get', discoveryPaths)],
    },
    ...certificateRoles(dialect),
  ];
};

export const componentBindings = (dialect: Dialect): readonly DefaultBinding[] => {
  const { dns, proxy, scheduler } = components(dialect);
  const { controllerManager, namespaces } = dialect;
  return [
    { name: 'system:monitoring', subjects: [group('system:monitoring')] },
    { name: 'system:node-proxier', subjects: [user(`system:${proxy}`)] },
    { name: `system:${controllerManager}`, subjects: [user(`system:${controllerManager}`)] },
    { name: `system:${dns}`, subjects: [account(namespaces.system, dns)] },
    { name: `system:${scheduler}`, subjects: [user(`system:${scheduler}`)] },
    { name: 'system:volume-scheduler', subjects: [user(`system:${scheduler}`)] },
    // Bound to nobody: the node authorizer decides for nodes, by the objects related to each of them.
    { name: 'system:node', subjects: [] },
    { name: 'system:service-account-issuer-discovery', subjects: [group('system:serviceaccounts')] },
  ];
};

const discoveryPaths =
  '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/';

/** TokenReviews and SubjectAccessReviews. */
const reviewOthers = (dialect: Dialect): readonly PolicyRule[] => [
  rule('create', 'tokenreviews', { groups: [dialect.group('authentication')] }),
  rule('create', 'subjectaccessreviews', { groups: [dialect.group('authorization')] }),
];

/** Permissions of every node on any object; the node authorizer restricts them to related objects (spec section 5.7). */
export const nodeRules = (dialect: Dialect): readonly PolicyRule[] => {
  const storage = { groups: [dialect.group('storage')] };
  const certificates = { groups: [dialect.group('certificates')] };
  return [
    rule('create', 'tokenreviews', { groups: [dialect.group('authentication')] }),
    rule('create', 'localsubjectaccessreviews subjectaccessreviews', { groups: [dialect.group('authorization')] }),
    rule(read, 'services'),
    rule(`create ${read}`, 'nodes'),
    rule('patch update', 'nodes/status'),
    rule('patch update', 'nodes'),
    rule('create patch update', 'events'),
    rule(read, 'pods'),
    rule('create delete', 'pods'),
    rule('patch update', 'pods/status'),
    rule('create', 'pods/eviction'),
    rule(read, 'configmaps secrets'),
    rule('get', 'persistentvolumeclaims persistentvolumes'),
    rule('get', 'endpoints'),
    rule(`create ${read}`, 'certificatesigningrequests', certificates),
    rule('create delete get patch update', 'leases', { groups: [dialect.group('coordination')] }),
    rule('get', 'volumeattachments', storage),
    rule('create', 'serviceaccounts/token'),
    rule('get patch update', 'persistentvolumeclaims/status'),
    rule(read, 'csidrivers', storage),
    rule('create delete get patch update', 'csinodes', storage),
    rule(read, 'runtimeclasses', { groups: [dialect.group('node')] }),
    rule(read, 'clustertrustbundles', certificates),
  ];
};

const controllerManagerRules = (dialect: Dialect): readonly PolicyRule[] => {
  const coordination = { groups: [dialect.group('coordination')] };
  return [
    recordEvents(dialect),
    rule('create', 'leases', coordination),
    rule('get update', 'leases', { ...coordination, names: [dialect.controllerManager] }),
    rule('create', 'secrets serviceaccounts'),
    rule('delete', 'secrets'),
    rule('get', 'configmaps namespaces secrets serviceaccounts'),
    rule('update', 'secrets serviceaccounts'),
    ...reviewOthers(dialect),
    rule('list watch', '*', { groups: ['*'] }),
    rule('create', 'serviceaccounts/token'),
  ];
};

const schedulerRules = (dialect: Dialect, scheduler: string): readonly PolicyRule[] => {
  const coordination = { groups: [dialect.group('coordination')] };
  const storage = { groups: [dialect.group('storage')] };
  const apps = dialect.group('apps');
  return [
    recordEvents(dialect),
    rule('create', 'leases', coordination),
    rule(`${read} update`, 'leases', { ...coordination, names: [scheduler] }),
    rule(`${read} create delete deletecollection patch update`, 'leasecandidates', coordination),
    rule(read, 'nodes'),
    rule(`delete ${read}`, 'pods'),
    rule('create', 'bindings pods/binding'),
    rule('patch update', 'pods/status'),
    rule(read, 'replicationcontrollers services'),
    rule(read, 'replicasets', { groups: [apps, dialect.group('extensions')] }),
    rule(read, 'statefulsets', { groups: [apps] }),
    rule(read, 'poddisruptionbudgets', { groups: [dialect.group('policy')] }),
    rule(read, 'persistentvolumeclaims persistentvolumes'),
    ...reviewOthers(dialect),
    rule(read, 'csinodes', storage),
    rule(read, 'volumeattachments', storage),
    rule(read, 'namespaces'),
    rule(read, 'csidrivers', storage),
    rule(read, 'csistoragecapacities', storage),
  ];
};

/** Roles for requesting certificates that are approved automatically, and for approving requests for a signer. */
const certificateRoles = (dialect: Dialect): readonly DefaultRole[] => {
  const certificates = dialect.group('certificates');
  const approver = (signer: string): DefaultRole => ({
    name: `system:${certificates}:${signer.slice(signer.indexOf('/') + 1)}-approver`,
    rules: [rule('approve', 'signers', { groups: [certificates], names: [signer] })],
  });
  const requester = (what: string): DefaultRole => ({
    name: `system:${certificates}:certificatesigningrequests:${what}`,
    rules: [rule('create', `certificatesigningrequests/${what}`, { groups: [certificates] })],
  });
  return [...Object.values(signerNames(dialect)).map(approver), requester('nodeclient'), requester('selfnodeclient')];
};
