import { components } from '../../../dialect/components.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { systemConfigMapNames } from '../../../dialect/system-config-map-names.ts';
import { clusterInfo } from '../../../kinds/core/cluster-info.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { controllerPrefix } from './controller-roles.ts';
import { account, bindingObject, read, recordEvents, roleObject, rule, user } from './policy-objects.ts';

/** Roles and bindings in the namespaces that the server creates at startup. */
export const namespaceRoles = (dialect: Dialect): readonly ApiObject[] => {
  const { system, public: publicNamespace } = dialect.namespaces;
  const { controllerManager } = dialect;
  const { scheduler } = components(dialect);
  const { authentication } = systemConfigMapNames(dialect);
  const reader = `${authentication}-reader`;
  return [
    roleObject(dialect, system, {
      name: reader,
      rules: [rule(read, 'configmaps', { names: [authentication] })],
    }),
    bindingObject(dialect, system, {
      name: `system::${reader}`,
      role: reader,
      subjects: [user(`system:${controllerManager}`), user(`system:${scheduler}`)],
    }),
    ...leaderLocking(dialect, { component: controllerManager, others: ['leader-election-controller'] }),
    ...leaderLocking(dialect, { component: scheduler, others: [] }),
    ...forController(dialect, system, 'bootstrap-signer', [rule(read, 'secrets')]),
    ...forController(dialect, system, 'cloud-provider', [rule(`create ${read}`, 'configmaps')]),
    ...forController(dialect, system, 'token-cleaner', [rule(`delete ${read}`, 'secrets'), recordEvents(dialect)]),
    ...forController(dialect, publicNamespace, 'bootstrap-signer', [
      rule(read, 'configmaps'),
      rule('update', 'configmaps', { names: [clusterInfo.name] }),
      recordEvents(dialect),
    ]),
  ];
};

/** Leader election: by a ConfigMap, as older versions of the component do it, and by a Lease, with or without a coordinator (KEP-4355). */
function leaderLocking(
  dialect: Dialect,
  { component, others }: { readonly component: string; readonly others: readonly string[] },
): readonly ApiObject[] {
  const { system } = dialect.namespaces;
  const name = `system::leader-locking-${component}`;
  const coordination = { groups: [dialect.group('coordination')] };
  return [
    roleObject(dialect, system, {
      name,
      rules: [
        rule('watch', 'configmaps'),
        rule('get update', 'configmaps', { names: [component] }),
        rule(`${read} create update`, 'leases', coordination),
        rule(`${read} create update`, 'leasecandidates', coordination),
      ],
    }),
    bindingObject(dialect, system, {
      name,
      subjects: [user(`system:${component}`), ...[component, ...others].map((each) => account(system, each))],
    }),
  ];
}

function forController(
  dialect: Dialect,
  namespace: string,
  controller: string,
  rules: Parameters<typeof roleObject>[2]['rules'],
): readonly ApiObject[] {
  const name = `${controllerPrefix}${controller}`;
  return [
    roleObject(dialect, namespace, { name, rules }),
    bindingObject(dialect, namespace, { name, subjects: [account(dialect.namespaces.system, controller)] }),
  ];
}
