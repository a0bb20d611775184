import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { chooseControllers } from '../../src/controllers/controllers.ts';
import { runAsLeader } from '../../src/controllers/run-controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, replicasOf, Workloads } from '../support/workloads.ts';

const controllers = controllersForEach();
const work = new Workloads(controllers);

/** Joins the election with all controllers of roll-outs until it is stopped. */
function manager(name: string) {
  const stop = new AbortController();
  const client = new ApiClient(controllers.transport, name);
  const environment = { clock: systemClock, random: systemRandom, logger: silentLogger, dialect: orch };
  const done = runAsLeader(
    chooseControllers(['deployment', 'replicaset']),
    { ...environment, client, rootAuthority: '' },
    {
      ...{ random: systemRandom, hostname: name, namespace: 'ns', name: 'managers' },
      timing: { leaseMs: 3_000, renewMs: 2_000, retryMs: 50 },
    },
    stop.signal,
  );
  return {
    async stop() {
      stop.abort(new Error('stopped'));
      await done;
    },
  };
}

it('of two managers one works; the other goes on where it ended, and nothing is done twice', async () => {
  const { transport } = controllers;
  const created = (): number => transport.requests.filter((each) => each === `POST ${podsPath}`).length;
  const managers = [manager('one'), manager('two')];
  const deployments = '/apis/apps/v1/namespaces/ns/deployments';
  await work.make(deployments, 'web', replicasOf(200));
  await until(() => created() > 20, 'one has begun');
  const holder = async (): Promise<string> => {
    const { spec } = await work.get<{ spec: { holderIdentity: string } }>(
      '/apis/coordination.orch.io/v1/namespaces/ns/leases/managers',
    );
    return spec.holderIdentity.replace(/_.*/, '');
  };
  const first = await holder();
  const [leading, waiting] = first === 'one' ? managers : [...managers].reverse();
  await leading?.stop();
  await until(async () => !['', first].includes(await holder()), 'the other leads');
  await work.status(`${deployments}/web`, { replicas: 200, updatedReplicas: 200 });
  await work.count(200);
  // Requests that were under way when the first one ended may have come to nothing.
  assert.ok(created() <= 200 + 32, `${created()} pods were created`);
  await waiting?.stop();
});
