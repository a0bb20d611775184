import type { Dialect } from '../../../dialect/dialect.ts';
import { simulationNames } from '../../../dialect/simulation-names.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { controllerPrefix } from './controller-roles.ts';
import { account, clusterBindingObject, clusterRoleObject, read, recordEvents, rule } from './policy-objects.ts';

/**
 * What the controller `simulated-nodes` needs, beside the default policy, where it runs: what is published for the scheduler and
 * for nodes.
 */
export function simulatedNodesPolicy(dialect: Dialect): readonly ApiObject[] {
  const name = `${controllerPrefix}${simulationNames.account}`;
  const rules = [
    rule(`${read} create patch`, 'nodes'),
    rule('patch', 'nodes/status'),
    rule('create get patch update', 'leases', { groups: [dialect.group('coordination')] }),
    rule(`${read} delete`, 'pods'),
    rule('patch', 'pods/status'),
    rule('create', 'pods/binding'),
    recordEvents(dialect),
  ];
  return [
    clusterRoleObject(dialect, { name, rules }),
    clusterBindingObject(dialect, { name, subjects: [account(dialect.namespaces.system, simulationNames.account)] }),
  ];
}
