import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defaultPlugins, enabledPlugins, type PluginName, pluginNames } from './plugins.ts';

/** All plugins of release 1.32 of kube-apiserver in their order; a star marks those that are on. */
const published =
  `AlwaysAdmit NamespaceAutoProvision *NamespaceLifecycle NamespaceExists LimitPodHardAntiAffinityTopology
  *LimitRanger *ServiceAccount NodeRestriction *TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook *PodSecurity
  PodNodeSelector *Priority *DefaultTolerationSeconds PodTolerationRestriction EventRateLimit ExtendedResourceToleration
  *DefaultStorageClass *StorageObjectInUseProtection OwnerReferencesPermissionEnforcement *PersistentVolumeClaimResize
  *RuntimeClass *CertificateApproval *CertificateSigning *ClusterTrustBundleAttest *CertificateSubjectRestriction
  *DefaultIngressClass DenyServiceExternalIPs *MutatingAdmissionPolicy *MutatingAdmissionWebhook
  *ValidatingAdmissionPolicy *ValidatingAdmissionWebhook *ResourceQuota AlwaysDeny`.split(/\s+/);
const named = published.map((name) => name.replace('*', ''));

/** Off in kube-apiserver, and on here: the node authorizer does not see what is written. */
const onHere: readonly string[] = ['NodeRestriction'];

it('the names and order of kube-apiserver', () => {
  const ours: readonly string[] = pluginNames;
  assert.deepEqual(
    ours,
    named.filter((name) => ours.includes(name)),
  );
});

it('the plugins that are on are those of kube-apiserver', () => {
  const isOn = (name: string) => published.includes(`*${name}`) || onHere.includes(name);
  assert.deepEqual(defaultPlugins, pluginNames.filter(isOn));
});

const owners = 'OwnerReferencesPermissionEnforcement';
const cases: readonly (readonly [enable: PluginName[], disable: PluginName[]])[] = [
  [[], []],
  [[owners], []],
  [[owners, 'NodeRestriction'], []],
  [[owners, 'NamespaceLifecycle'], ['NodeRestriction']],
  [[], ['ServiceAccount']],
  [[owners], ['NamespaceLifecycle', 'ServiceAccount']],
  [[], [owners]],
  [[], ['NamespaceLifecycle', 'CertificateSigning']],
  [[], [...defaultPlugins]],
];
for (const [enable, disable] of cases) {
  it(`+${enable} -${disable}`, () => {
    const wanted = new Set<PluginName>([...defaultPlugins, ...enable]);
    for (const name of disable) wanted.delete(name);
    assert.deepEqual(
      enabledPlugins({ enable, disable }),
      pluginNames.filter((name) => wanted.has(name)),
    );
  });
}
