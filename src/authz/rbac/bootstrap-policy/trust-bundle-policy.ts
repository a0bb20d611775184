import type { Dialect } from '../../../dialect/dialect.ts';
import { servingBundlePublisher, servingSigner } from '../../../dialect/signer-names.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { ResourceName } from '../../../meta/status-error.ts';
import { controllerPrefix } from './controller-roles.ts';
import { account, clusterBindingObject, clusterRoleObject, group, read, recordEvents, rule } from './policy-objects.ts';

/** The resource that `trustBundlePolicy` is about. */
export const trustBundles = (dialect: Dialect): ResourceName => ({
  group: dialect.group('certificates'),
  resource: 'clustertrustbundles',
});

/**
 * What ClusterTrustBundles need where they are served, beside the default policy. Every authenticated user reads them (spec
 * section 2.8): anchors are public. kube-apiserver lets only service accounts do so.
 */
export function trustBundlePolicy(dialect: Dialect): readonly ApiObject[] {
  const { group: certificatesGroup, resource: bundles } = trustBundles(dialect);
  const certificates = { groups: [certificatesGroup] };
  const discovery = 'system:cluster-trust-bundle-discovery';
  const publisher = servingBundlePublisher(dialect);
  const publishing = [
    rule('attest', 'signers', { ...certificates, names: [servingSigner(dialect)] }),
    rule('create delete list update watch', bundles, certificates),
    recordEvents(dialect),
  ];
  return [
    clusterRoleObject(dialect, { name: discovery, rules: [rule(read, bundles, certificates)] }),
    clusterBindingObject(dialect, { name: discovery, subjects: [group('system:authenticated')] }),
    clusterRoleObject(dialect, { name: `${controllerPrefix}${publisher}`, rules: publishing }),
    clusterBindingObject(dialect, {
      name: `${controllerPrefix}${publisher}`,
      subjects: [account(dialect.namespaces.system, publisher)],
    }),
  ];
}
