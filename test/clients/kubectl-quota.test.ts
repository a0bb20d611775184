import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type KubectlResult, kubectl, kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** `create quota`, `describe quota` and `describe limits`, and what is refused, in both dialects. */

const domains = { orch: 'orch.io', kubernetes: 'kubernetes.io' } as const;

for (const dialect of ['orch', 'kubernetes'] as const) {
  describe(`kubectl and quotas with --dialect=${dialect}`, { skip: kubectlMissing ?? false }, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    const run = (args: string, input?: string): Promise<KubectlResult> =>
      kubectl(server, args.split(' '), input === undefined ? {} : { input });

    async function succeeds(args: string, input?: string): Promise<string> {
      const result = await run(args, input);
      assert.equal(result.code, 0, `${args}: ${result.err}`);
      return result.out;
    }

    const described = async (args: string): Promise<readonly string[]> =>
      (await succeeds(args)).split('\n').map((line) =>
        line
          .trim()
          .split(/\s{2,}/)
          .join(' '),
      );

    test('a quota of objects', async () => {
      await succeeds('create namespace counted');
      await until(async () => (await run('-n counted get serviceaccount default')).code === 0);
      await until(async () => (await run('-n counted get configmaps -o name')).out.split('\n').length === 2);
      await succeeds('-n counted create quota q --hard=configmaps=3,secrets=1,count/deployments.apps=2');
      await until(async () => (await described('-n counted describe quota q')).includes('configmaps 1 3'));
      const lines = await described('-n counted describe quota q');
      assert.deepEqual(lines.slice(0, 7), [
        'Name: q',
        'Namespace: counted',
        'Resource Used Hard',
        '-------- ---- ----',
        'configmaps 1 3',
        'count/deployments.apps 0 2',
        'secrets 0 1',
      ]);
      await succeeds('-n counted create secret generic s');
      const refused = await run('-n counted create secret generic t');
      assert.match(
        refused.err,
        /secrets "t" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1/,
      );
      assert.match(
        await succeeds('-n counted get quota'),
        /configmaps: 1\/3, count\/deployments\.apps: 0\/2, secrets: 1\/1/,
      );
      await succeeds('-n counted delete secret s');
      await until(async () => (await run('-n counted create secret generic t')).code === 0);
    });

    test('a quota of pods that ask for nothing, and limits', async () => {
      await succeeds('create namespace limited');
      await until(async () => (await run('-n limited get serviceaccount default')).code === 0);
      await succeeds('-n limited create quota best --hard=pods=1 --scopes=BestEffort');
      await until(async () => (await described('-n limited describe quota best')).includes('pods 0 1'));
      assert.ok((await described('-n limited describe quota best')).includes('Scopes: BestEffort'));
      await succeeds('-n limited run a --image=i');
      const refused = await run('-n limited run b --image=i');
      assert.match(
        refused.err,
        /pods "b" is forbidden: exceeded quota: best, requested: pods=1, used: pods=1, limited: pods=1/,
      );
      const range = {
        ...{ apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'r' } },
        spec: {
          limits: [{ type: 'Container', default: { cpu: '200m' }, defaultRequest: { cpu: '100m' }, max: { cpu: '1' } }],
        },
      };
      await succeeds('-n limited apply -f -', JSON.stringify(range));
      assert.ok((await described('-n limited describe limits r')).includes('Container cpu - 1 100m 200m -'));
      await succeeds('-n limited run b --image=i');
      const shown = await succeeds(
        `-n limited get pod b -o jsonpath={.spec.containers[0].resources}{.status.qosClass}{.metadata.annotations.${domains[dialect].replaceAll('.', '\\.')}/limit-ranger}`,
      );
      assert.equal(
        shown,
        '{"limits":{"cpu":"200m"},"requests":{"cpu":"100m"}}BurstableLimitRanger plugin set: cpu request for container b; cpu limit for container b',
      );
      const tooMuch = { spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '2' } } }] } };
      const large = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'c' }, ...tooMuch };
      const beyond = await run('-n limited create -f -', JSON.stringify(large));
      assert.match(beyond.err, /pods "c" is forbidden: maximum cpu usage per Container is 1, but limit is 2/);
    });
  });
}
