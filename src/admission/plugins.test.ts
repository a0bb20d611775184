import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defaultPlugins, enabledPlugins, type PluginName, pluginNames } from './plugins.ts';

const lifecycle = 'NamespaceLifecycle';
const account = 'ServiceAccount';
const nodes = 'NodeRestriction';
const owners = 'OwnerReferencesPermissionEnforcement';

it('the names and order of kube-apiserver, and the plugins enabled by default', () => {
  assert.deepEqual(pluginNames, [lifecycle, account, nodes, owners]);
  assert.deepEqual(defaultPlugins, [lifecycle, account, nodes]);
});

const cases: readonly (readonly [enable: PluginName[], disable: PluginName[], expected: PluginName[]])[] = [
  [[], [], [lifecycle, account, nodes]],
  [[owners], [], [lifecycle, account, nodes, owners]],
  [[owners, nodes], [], [lifecycle, account, nodes, owners]],
  [[owners, lifecycle], [nodes], [lifecycle, account, owners]],
  [[], [account], [lifecycle, nodes]],
  [[owners], [lifecycle, account], [nodes, owners]],
  [[], [owners], [lifecycle, account, nodes]],
];
for (const [enable, disable, expected] of cases) {
  it(`+${enable} -${disable}`, () => assert.deepEqual(enabledPlugins({ enable, disable }), expected));
}
