import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Admission plugins that are off by default, switched on; their rules stand in tables beside them. */

const core = '/api/v1/namespaces/default';
const zone = { topologyKey: 'topology.orch.io/zone', labelSelector: {} };
const service = (externalIPs: readonly string[]) => ({ ports: [{ port: 80 }], externalIPs });
const pod = (more: object = {}, container: object = {}) => ({
  containers: [{ name: 'c', image: 'i', ...container }],
  ...more,
});
const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [zone] } } };
const device = { resources: { limits: { 'example.com/gpu': '1' } } };

const cases = [
  {
    plugin: 'DenyServiceExternalIPs',
    ...{ resource: 'services', spec: service(['192.0.2.1']) },
    refused: 'services "x" is forbidden: Use of external IPs is denied by admission control',
  },
  {
    plugin: 'LimitPodHardAntiAffinityTopology',
    ...{ resource: 'pods', spec: pod(apart) },
    refused:
      'pods "x" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey topology.orch.io/zone but only key orch.io/hostname is allowed',
  },
  { plugin: 'ExtendedResourceToleration', resource: 'pods', spec: pod({}, device), refused: undefined },
] as const;

interface Made {
  readonly message?: string;
  readonly spec: { readonly tolerations?: readonly { readonly key: string }[] };
}

for (const enabled of [false, true]) {
  describe(enabled ? 'plugins that are switched on' : 'plugins that are off', () => {
    let server: OrchProcess;
    before(async () => {
      const names = cases.map(({ plugin }) => plugin).join();
      server = await OrchProcess.start({ flags: enabled ? [`--enable-admission-plugins=${names}`] : [] });
      const account = `${core}/serviceaccounts/default`;
      await until(async () => (await server.get(account)).status === 200, 'there is no account for pods');
    });
    after(() => server[Symbol.asyncDispose]());

    for (const { plugin, resource, spec, refused } of cases) {
      for (const note of ['', 'x'.repeat(limits.lightBytesMax)]) {
        it(`${plugin}, ${note ? 'heavy' : 'small'}`, async () => {
          const object = { metadata: { name: 'x', annotations: { note } }, spec };
          const { status, json, text } = await server.post<Made>(`${core}/${resource}?dryRun=All`, object);
          const isRefused = enabled && refused !== undefined;
          assert.deepEqual([status, json.message], isRefused ? [403, refused] : [201, undefined], text);
          const tolerated = (json.spec?.tolerations ?? []).some(({ key }) => key === 'example.com/gpu');
          assert.equal(tolerated, enabled && plugin === 'ExtendedResourceToleration');
        });
      }
    }
  });
}
