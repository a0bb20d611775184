import type { Dialect } from '../../../dialect/dialect.ts';
import { nodeNameOf } from '../../../request/node-user.ts';
import type { AdmissionPlugin } from '../../chain.ts';
import { admissionForbidden } from '../../forbidden.ts';
import { checkCertificateRequest } from './certificate-request-check.ts';
import { checkClaim } from './claim-check.ts';
import { checkNode } from './node-checks.ts';
import type { Check, NodeRestrictionOptions } from './node-write.ts';
import { checkDriverNode, checkLease, checkSlice } from './own-object-checks.ts';
import { checkPod } from './pod-checks.ts';
import { checkToken } from './token-check.ts';

export type { NodeRestrictionOptions } from './node-write.ts';

/**
 * Restricts kubelet writes to objects of their own node (spec section 5.7), since the Node authorizer does not see
 * objects. As in kube-apiserver 1.32 with the fixes of CVE-2025-4563 and CVE-2025-5187. Other users are not restricted.
 *
 * Runs in the mutating phase, as in kube-apiserver, but changes nothing: later mutations of a kubelet's write, such as
 * node labels added by a webhook, are not the kubelet's.
 */
export function nodeRestriction(options: NodeRestrictionOptions): AdmissionPlugin {
  const checks = checksOf(options.dialect);
  return {
    name: 'NodeRestriction',
    sideEffects: 'none',
    concerns: ({ user, operation }) => operation !== 'connect' && nodeNameOf(user) !== undefined,
    async mutate(attributes) {
      const node = nodeNameOf(attributes.user);
      if (node === undefined) return;
      if (node === '') {
        const { username } = attributes.user;
        throw admissionForbidden(attributes, `could not determine node from user ${JSON.stringify(username)}`);
      }
      const { operation, info } = attributes;
      const { group, resource } = info;
      if (operation !== 'connect')
        await checks.get(checkKey(group, resource))?.({ node, operation, attributes, options });
    },
  };
}

const checkKey = (group: string, resource: string): string => `${group}/${resource}`;

/** Checks by resource, including resources that are not served yet. */
const checksOf = (dialect: Dialect): ReadonlyMap<string, Check> =>
  new Map<string, Check>([
    [checkKey('', 'pods'), checkPod],
    [checkKey('', 'nodes'), checkNode],
    [checkKey('', 'persistentvolumeclaims'), checkClaim],
    [checkKey('', 'serviceaccounts'), checkToken],
    [checkKey(dialect.group('coordination'), 'leases'), checkLease],
    [checkKey(dialect.group('storage'), 'csinodes'), checkDriverNode],
    [checkKey(dialect.group('resource'), 'resourceslices'), checkSlice],
    [checkKey(dialect.group('certificates'), 'certificatesigningrequests'), checkCertificateRequest],
  ]);
