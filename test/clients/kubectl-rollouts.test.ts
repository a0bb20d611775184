import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { KubectlClient, kubectlMissing } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Roll-outs by every release of the client, with the controllers of workloads and simulated nodes. */
describe('roll-outs by clients', { skip: kubectlMissing ?? false }, () => {
  let server: OrchProcess;
  before(async () => {
    const flags = ['--dialect=kubernetes', '--controllers=*,workloads,simulated-nodes', '--simulated-nodes=2'];
    server = await OrchProcess.start({ flags });
    const ready = async (): Promise<boolean> =>
      (await server.request('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status === 200;
    await until(ready, 'pods can be made');
  });
  after(async () => {
    await server?.stop();
  });

  for (const release of kubectlReleases) {
    it(`release ${release.release}`, async () => {
      const client = new KubectlClient(release, server);
      const name = `web-${release.release.replace('.', '-')}`;
      const deployment = `deployment/${name}`;
      const run = async (...args: readonly string[]): Promise<string> => {
        const { code, out, err } = await client.run(args);
        assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`);
        return out;
      };
      const rolledOut = async (): Promise<void> =>
        assert.match(await run('rollout', 'status', deployment, '--timeout=50s'), /successfully rolled out/);
      const field = (path: string): Promise<string> => run('get', deployment, '-o', `jsonpath={${path}}`);
      const image = '.spec.template.spec.containers[0].image';
      await run('create', 'deployment', name, '--image=app:1');
      await rolledOut();
      await run('set', 'image', deployment, '*=app:2');
      await rolledOut();
      assert.match(await run('rollout', 'history', deployment), /\n1 .*\n2 /);
      assert.match(await run('rollout', 'history', deployment, '--revision=1'), /app:1/);
      await run('rollout', 'undo', deployment);
      await rolledOut();
      assert.equal(await field(image), 'app:1');
      await run('rollout', 'pause', deployment);
      await run('set', 'image', deployment, '*=app:3');
      await run('rollout', 'resume', deployment);
      await rolledOut();
      assert.equal(await field('.metadata.annotations.deployment\\.kubernetes\\.io/revision'), '4');
      await run('rollout', 'restart', deployment);
      await rolledOut();
      await run('scale', deployment, '--replicas=3');
      await rolledOut();
      await run('wait', '--for=condition=Available', deployment, '--timeout=50s');
      await run('expose', deployment, '--port=80');
      await until(
        async () =>
          (await run('get', 'endpoints', name, '-o', 'jsonpath={.subsets[*].addresses[*].ip}')).split(' ').length === 3,
      );
      await run('drain', 'simulated-1', '--timeout=50s');
      await rolledOut();
      const nodes = await run('get', 'pods', '-l', `app=${name}`, '-o', 'jsonpath={.items[*].spec.nodeName}');
      assert.deepEqual([...new Set(nodes.split(' '))], ['simulated-2']);
      await run('uncordon', 'simulated-1');
      assert.match(await run('describe', deployment), /NewReplicaSet: .*\(3\/3 replicas created\)/);
      await run('delete', deployment, `service/${name}`);
      await run('wait', '--for=delete', 'pod', '-l', `app=${name}`, '--timeout=50s');
    });
  }
});
