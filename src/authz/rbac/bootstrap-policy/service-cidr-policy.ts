import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { controllerPrefix } from './controller-roles.ts';
import { account, clusterBindingObject, clusterRoleObject, read, recordEvents, rule } from './policy-objects.ts';

/** The service account of the controller of ServiceCIDRs; published. */
const serviceCidrAccount = 'service-cidrs-controller';

/** What the controller of ServiceCIDRs needs, beside the default policy: only where services get their addresses from these. */
export function serviceCidrPolicy(dialect: Dialect): readonly ApiObject[] {
  const networking = { groups: [dialect.group('networking')] };
  const name = `${controllerPrefix}${serviceCidrAccount}`;
  const rules = [
    rule(`${read} patch update`, 'servicecidrs', networking),
    rule('patch update', 'servicecidrs/finalizers', networking),
    rule('patch update', 'servicecidrs/status', networking),
    rule(read, 'ipaddresses', networking),
    recordEvents(dialect),
  ];
  return [
    clusterRoleObject(dialect, { name, rules }),
    clusterBindingObject(dialect, { name, subjects: [account(dialect.namespaces.system, serviceCidrAccount)] }),
  ];
}
