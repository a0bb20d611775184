import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defaultPlugins, enabledPlugins, type PluginName, pluginNames } from './plugins.ts';

const lifecycle = 'NamespaceLifecycle';
const account = 'ServiceAccount';
const nodes = 'NodeRestriction';
const owners = 'OwnerReferencesPermissionEnforcement';
const certificates = [
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
] as const;

it('the names and order of kube-apiserver, and the plugins enabled by default', () => {
  assert.deepEqual(pluginNames, [lifecycle, account, nodes, owners, ...certificates]);
  assert.deepEqual(defaultPlugins, [lifecycle, account, nodes, ...certificates]);
});

const cases: readonly (readonly [enable: PluginName[], disable: PluginName[], expected: PluginName[]])[] = [
  [[], [], [lifecycle, account, nodes, ...certificates]],
  [[owners], [], [lifecycle, account, nodes, owners, ...certificates]],
  [[owners, nodes], [], [lifecycle, account, nodes, owners, ...certificates]],
  [[owners, lifecycle], [nodes], [lifecycle, account, owners, ...certificates]],
  [[], [account], [lifecycle, nodes, ...certificates]],
  [[owners], [lifecycle, account], [nodes, owners, ...certificates]],
  [[], [owners], [lifecycle, account, nodes, ...certificates]],
  [[], [lifecycle, account, nodes, 'CertificateSigning'], certificates.filter((name) => name !== 'CertificateSigning')],
];
for (const [enable, disable, expected] of cases) {
  it(`+${enable} -${disable}`, () => assert.deepEqual(enabledPlugins({ enable, disable }), expected));
}
