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
const webhooks = ['MutatingAdmissionWebhook', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionWebhook'] as const;
const rest = [...certificates, ...webhooks] as const;

it('the names and order of kube-apiserver, and the plugins enabled by default', () => {
  assert.deepEqual(pluginNames, [lifecycle, account, nodes, owners, ...rest]);
  assert.deepEqual(defaultPlugins, [lifecycle, account, nodes, ...rest]);
});

const cases: readonly (readonly [enable: PluginName[], disable: PluginName[], expected: PluginName[]])[] = [
  [[], [], [lifecycle, account, nodes, ...rest]],
  [[owners], [], [lifecycle, account, nodes, owners, ...rest]],
  [[owners, nodes], [], [lifecycle, account, nodes, owners, ...rest]],
  [[owners, lifecycle], [nodes], [lifecycle, account, owners, ...rest]],
  [[], [account], [lifecycle, nodes, ...rest]],
  [[owners], [lifecycle, account], [nodes, owners, ...rest]],
  [[], [owners], [lifecycle, account, nodes, ...rest]],
  [[], [lifecycle, account, nodes, 'CertificateSigning'], rest.filter((name) => name !== 'CertificateSigning')],
];
for (const [enable, disable, expected] of cases) {
  it(`+${enable} -${disable}`, () => assert.deepEqual(enabledPlugins({ enable, disable }), expected));
}
