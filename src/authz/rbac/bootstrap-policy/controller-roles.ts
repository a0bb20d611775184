import type { Dialect } from '../../../dialect/dialect.ts';
import { signerNames } from '../../../dialect/signer-names.ts';
import { systemConfigMapNames } from '../../../dialect/system-config-map-names.ts';
import type { PolicyRule } from '../../../kinds/rbac/policy-rule.ts';
import { account, type DefaultBinding, type DefaultRole, read, recordEvents, rule } from './policy-objects.ts';

/** Prefix of the controllers' role names; the name of the controller's service account follows. */
export const controllerPrefix = 'system:controller:';

/** One role for each controller. */
export const controllerRoles = (dialect: Dialect): readonly DefaultRole[] =>
  Object.entries(rulesByController(dialect)).map(([controller, rules]) => ({
    name: `${controllerPrefix}${controller}`,
    rules,
  }));

/** Binds each role to its controller's service account. */
export const controllerBindings = (dialect: Dialect): readonly DefaultBinding[] =>
  Object.keys(rulesByController(dialect)).map((controller) => ({
    name: `${controllerPrefix}${controller}`,
    subjects: [account(dialect.namespaces.system, controller)],
  }));

const rulesByController = (dialect: Dialect): Readonly<Record<string, readonly PolicyRule[]>> => ({
  ...workloadRules(dialect),
  ...networkRules(dialect),
  ...volumeRules(dialect),
  ...clusterRules(dialect),
});

/** Workload controllers. */
const workloadRules = (dialect: Dialect): Readonly<Record<string, readonly PolicyRule[]>> => {
  const events = recordEvents(dialect);
  const apps = { groups: [dialect.group('apps')] };
  const both = { groups: [dialect.group('apps'), dialect.group('extensions')] };
  const batch = { groups: [dialect.group('batch')] };
  const autoscaling = { groups: [dialect.group('autoscaling')] };
  const policy = { groups: [dialect.group('policy')] };
  const managePods = rule('create delete list patch watch', 'pods');
  return {
    'cronjob-controller': [
      rule(`${read} update`, 'cronjobs', batch),
      rule(`${read} create delete patch update`, 'jobs', batch),
      rule('update', 'cronjobs/status', batch),
      rule('update', 'cronjobs/finalizers', batch),
      rule('delete list watch', 'pods'),
      events,
    ],
    'daemon-set-controller': [
      rule(read, 'daemonsets', both),
      rule('update', 'daemonsets/status', both),
      rule('update', 'daemonsets/finalizers', both),
      rule('list watch', 'nodes'),
      managePods,
      rule('create', 'pods/binding'),
      rule(`${read} create delete patch update`, 'controllerrevisions', apps),
      events,
    ],
    'deployment-controller': [
      rule(`${read} update`, 'deployments', both),
      rule('update', 'deployments/status', both),
      rule('update', 'deployments/finalizers', both),
      rule(`${read} create delete patch update`, 'replicasets', both),
      rule(`${read} update`, 'pods'),
      events,
    ],
    'disruption-controller': [
      rule(read, 'deployments', both),
      rule(read, 'replicasets', both),
      rule(read, 'replicationcontrollers'),
      rule(read, 'poddisruptionbudgets', policy),
      rule(read, 'statefulsets', apps),
      rule('update', 'poddisruptionbudgets/status', policy),
      rule('patch update', 'pods/status'),
      rule('get', '*/scale', { groups: ['*'] }),
      events,
    ],
    'horizontal-pod-autoscaler': [
      rule(read, 'horizontalpodautoscalers', autoscaling),
      rule('update', 'horizontalpodautoscalers/status', autoscaling),
      rule('get update', '*/scale', { groups: ['*'] }),
      rule('list watch', 'pods'),
      rule('list watch', 'pods', { groups: [dialect.group('metrics')] }),
      rule(read, '*', { groups: [dialect.group('custom.metrics')] }),
      rule(read, '*', { groups: [dialect.group('external.metrics')] }),
      events,
    ],
    'job-controller': [
      rule(`${read} patch update`, 'jobs', batch),
      rule('update', 'jobs/status', batch),
      rule('update', 'jobs/finalizers', batch),
      managePods,
      events,
    ],
    'pod-garbage-collector': [rule('delete list watch', 'pods'), rule(read, 'nodes'), rule('patch', 'pods/status')],
    'replicaset-controller': [
      rule(`${read} update`, 'replicasets', both),
      rule('update', 'replicasets/status', both),
      rule('update', 'replicasets/finalizers', both),
      managePods,
      events,
    ],
    'replication-controller': [
      rule(`${read} update`, 'replicationcontrollers'),
      rule('update', 'replicationcontrollers/status'),
      rule('update', 'replicationcontrollers/finalizers'),
      managePods,
      events,
    ],
    'statefulset-controller': [
      rule('list watch', 'pods'),
      rule(read, 'statefulsets', apps),
      rule('update', 'statefulsets/status', apps),
      rule('update', 'statefulsets/finalizers', apps),
      rule('create delete get patch update', 'pods'),
      rule(`${read} create delete patch update`, 'controllerrevisions', apps),
      rule(`${read} create`, 'persistentvolumeclaims'),
      events,
      rule('delete update', 'persistentvolumeclaims'),
      rule('update', 'pods/finalizers'),
    ],
    'ttl-after-finished-controller': [rule(`${read} delete`, 'jobs', batch), events],
  };
};

/** Controllers of services and networking. */
const networkRules = (dialect: Dialect): Readonly<Record<string, readonly PolicyRule[]>> => {
  const events = recordEvents(dialect);
  const discovery = { groups: [dialect.group('discovery')] };
  return {
    'endpoint-controller': [
      rule(read, 'pods services'),
      rule(`${read} create delete update`, 'endpoints'),
      rule('create', 'endpoints/restricted'),
      events,
    ],
    'endpointslice-controller': [
      rule(read, 'nodes pods services'),
      rule('update', 'services/finalizers'),
      rule(`${read} create delete update`, 'endpointslices', discovery),
      events,
    ],
    'endpointslicemirroring-controller': [
      rule(read, 'endpoints services'),
      rule('update', 'services/finalizers'),
      rule('update', 'endpoints/finalizers'),
      rule(`${read} create delete update`, 'endpointslices', discovery),
      events,
    ],
    'route-controller': [rule('list watch', 'nodes'), rule('patch', 'nodes/status'), events],
    'service-controller': [
      rule(read, 'services'),
      rule('patch update', 'services/status'),
      rule('list watch', 'nodes'),
      events,
    ],
  };
};

/** Storage controllers. */
const volumeRules = (dialect: Dialect): Readonly<Record<string, readonly PolicyRule[]>> => {
  const events = recordEvents(dialect);
  const storage = { groups: [dialect.group('storage')] };
  return {
    'attachdetach-controller': [
      rule('list watch', 'persistentvolumeclaims persistentvolumes'),
      rule(read, 'nodes'),
      rule('patch update', 'nodes/status'),
      rule('list watch', 'pods'),
      events,
      rule(`${read} create delete`, 'volumeattachments', storage),
      rule(read, 'csidrivers', storage),
      rule(read, 'csinodes', storage),
    ],
    'ephemeral-volume-controller': [
      rule(read, 'pods'),
      rule('update', 'pods/finalizers'),
      rule(`${read} create`, 'persistentvolumeclaims'),
      events,
    ],
    'expand-controller': [
      rule(`${read} patch update`, 'persistentvolumes'),
      rule('patch update', 'persistentvolumeclaims/status'),
      rule(read, 'persistentvolumeclaims'),
      events,
      rule('get', 'services'),
    ],
    'persistent-volume-binder': [
      rule(`${read} create delete update`, 'persistentvolumes'),
      rule('update', 'persistentvolumes/status'),
      rule(`${read} update`, 'persistentvolumeclaims'),
      rule('update', 'persistentvolumeclaims/status'),
      rule(`${read} create delete`, 'pods'),
      rule(read, 'storageclasses', storage),
      rule('list watch', 'nodes'),
      events,
      rule('watch', 'events'),
      rule('get', 'services'),
    ],
    'pv-protection-controller': [rule(`${read} update`, 'persistentvolumes'), events],
    'pvc-protection-controller': [rule(`${read} update`, 'persistentvolumeclaims'), rule(read, 'pods'), events],
  };
};

/** Controllers of namespaces, nodes, identities and RBAC. */
const clusterRules = (dialect: Dialect): Readonly<Record<string, readonly PolicyRule[]>> => {
  const events = recordEvents(dialect);
  const certificates = { groups: [dialect.group('certificates')] };
  const admission = { groups: [dialect.group('admissionregistration')] };
  const signers = signerNames(dialect);
  return {
    'certificate-controller': [
      rule(`${read} delete`, 'certificatesigningrequests', certificates),
      rule('update', 'certificatesigningrequests/approval certificatesigningrequests/status', certificates),
      rule('approve', 'signers', { ...certificates, names: [signers.nodeClient] }),
      rule('sign', 'signers', { ...certificates, names: Object.values(signers) }),
      rule('create', 'subjectaccessreviews', { groups: [dialect.group('authorization')] }),
      events,
    ],
    'clusterrole-aggregation-controller': [
      rule(`${read} escalate patch update`, 'clusterroles', { groups: [dialect.group('rbac.authorization')] }),
    ],
    'generic-garbage-collector': [rule(`${read} delete patch update`, '*', { groups: ['*'] }), events],
    'legacy-service-account-token-cleaner': [
      rule('get', 'configmaps', { names: [systemConfigMapNames(dialect).legacyTokens] }),
      rule('delete patch', 'secrets'),
    ],
    'namespace-controller': [
      rule(`${read} delete`, 'namespaces'),
      rule('update', 'namespaces/finalize namespaces/status'),
      rule(`${read} delete deletecollection`, '*', { groups: ['*'] }),
    ],
    'node-controller': [
      rule(`${read} delete patch update`, 'nodes'),
      rule('patch update', 'nodes/status'),
      rule('patch update', 'pods/status'),
      rule(`${read} delete`, 'pods'),
      events,
    ],
    'resourcequota-controller': [
      rule('list watch', '*', { groups: ['*'] }),
      rule('update', 'resourcequotas/status'),
      events,
    ],
    'root-ca-cert-publisher': [rule('create update', 'configmaps'), events],
    'service-account-controller': [rule('create', 'serviceaccounts'), events],
    'ttl-controller': [rule('list patch update watch', 'nodes'), events],
    'validatingadmissionpolicy-status-controller': [
      rule(read, 'validatingadmissionpolicies', admission),
      rule('get patch update', 'validatingadmissionpolicies/status', admission),
      events,
    ],
  };
};
