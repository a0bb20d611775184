import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributesOf } from '../../../admission/attributes-fixture.ts';
import { defaultPluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import { pluginNames } from '../../../admission/plugins.ts';
import { systemRandom } from '../../../base/random.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { orch } from '../../../dialect/orch.ts';
import { groupNodes, nodeUserName } from '../../../request/node-user.ts';
import { type AdmissionLookups, composeAdmission } from './admission.ts';
import { withoutConfigurations } from './dynamic-admission-fixture.ts';

const refuse = (): never => {
  throw new Error('nothing is asked for');
};
const unasked: AdmissionLookups = {
  namespacePhase: refuse,
  object: refuse,
  authorize: refuse,
  resourcesOf: refuse,
  heldRules: refuse,
  roleRules: refuse,
  ...withoutConfigurations,
};

for (const resource of ['pods/exec', 'services/proxy', 'nodes/proxy', 'namespaces']) {
  test(`connecting to ${resource} involves no plugin: it writes nothing`, async () => {
    const admission = composeAdmission(pluginNames, {
      dialect: orch,
      configurations: defaultPluginConfigurations,
      features: new Set(),
      clock: systemClock,
      random: systemRandom,
      lookups: unasked,
    });
    const user = { username: nodeUserName('n1'), uid: '', groups: [groupNodes], extra: {} };
    const attributes = { ...attributesOf({ operation: 'connect', resource, namespace: 'n' }), user };
    const before = structuredClone(attributes.object);
    await admission.mutate(attributes);
    await admission.validate(attributes);
    assert.deepEqual(attributes.object, before);
  });
}
