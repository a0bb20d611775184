import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { formatTime } from '../../src/meta/time.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, replicasOf, template, Workloads } from '../support/workloads.ts';

/** Controllers that look after pods which others made: budgets, finished jobs, and pods that nobody removes. */
const controllers = controllersForEach();
const work = new Workloads(controllers);
const { metadata: podMetadata, spec: podSpec } = template() as { readonly metadata: object; readonly spec: object };
const apps = '/apis/apps/v1/namespaces/ns';

describe('disruption budgets', () => {
  const budgets = '/apis/policy/v1/namespaces/ns/poddisruptionbudgets';
  const path = `${budgets}/web`;
  const selector = { matchLabels: { app: 'x' } };
  const readyAll = async (): Promise<void> => {
    for (const name of await work.names()) await work.ready(name);
  };

  it('count the pods that they select, by number', async () => {
    controllers.start(['disruption', 'replicaset']);
    await work.make(budgets, 'web', { minAvailable: 2, selector });
    await work.status(path, { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 2, expectedPods: 0 });
    assert.ok((await work.events('web')).includes('NoPods: No matching pods found'));
    await work.make(`${apps}/replicasets`, 'web', replicasOf(3));
    await work.count(3);
    await readyAll();
    await work.status(path, { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 });
    const [name] = await work.names();
    await work.remove(`${podsPath}/${name}`);
    await work.status(path, { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, expectedPods: 4 });
  });

  it('count what deployments want, by percentage', async () => {
    controllers.start(['disruption', 'replicaset', 'deployment']);
    await work.make(budgets, 'web', { maxUnavailable: '50%', selector });
    await work.make(`${apps}/deployments`, 'web', replicasOf(4));
    await work.count(4);
    await readyAll();
    await work.status(path, { disruptionsAllowed: 2, currentHealthy: 4, desiredHealthy: 2, expectedPods: 4 });
  });

  it('of pods without a controller say so, and allow nothing for pods whose controller has no scale', async () => {
    controllers.start(['disruption']);
    await work.make(budgets, 'web', { maxUnavailable: 1, selector });
    await work.make(podsPath, 'alone', podSpec, podMetadata);
    await until(
      async () => (await work.events('web')).some((each) => each.startsWith('UnmanagedPods: ')),
      'it says so',
    );
    const unmanaged = (await work.events('web')).find((each) => each.startsWith('UnmanagedPods: ')) ?? '';
    assert.ok(
      unmanaged.includes(
        '(selector: &LabelSelector{MatchLabels:map[string]string{app: x,},MatchExpressions:[]LabelSelectorRequirement{},})',
      ),
    );
    const job = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true };
    await work.make(podsPath, 'owned', podSpec, { ...podMetadata, ownerReferences: [job] });
    const failed = async (): Promise<boolean> =>
      JSON.stringify(await work.get(path)).includes('jobs.batch does not implement the scale subresource');
    await until(failed, 'it never fails');
    await work.status(path, { disruptionsAllowed: 0 });
  });
});

describe('finished jobs', () => {
  const jobs = '/apis/batch/v1/namespaces/ns/jobs';
  it('are deleted when their time has come, and not before', async () => {
    const clock = new ManualClock(controllers.fixture.clock.now());
    controllers.start(['ttl-after-finished'], { clock });
    const jobSpec = { template: { spec: { ...podSpec, restartPolicy: 'Never' } } };
    await work.make(jobs, 'short', { ...jobSpec, ttlSecondsAfterFinished: 100 });
    await work.make(jobs, 'kept', jobSpec);
    const at = formatTime(clock.now());
    for (const name of ['short', 'kept']) {
      const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: at,
      }));
      await work.patch(`${jobs}/${name}/status`, { status: { startTime: at, completionTime: at, conditions } });
    }
    await until(() => clock.pending > 0, 'it waits');
    clock.advance(90_000);
    assert.equal((await work.get(`${jobs}/short`)).metadata.deletionTimestamp, undefined);
    clock.advance(20_000);
    // In the foreground: what remains is up to the garbage collector.
    await until(
      async () => (await work.get(`${jobs}/short`)).metadata.deletionTimestamp !== undefined,
      'it is deleted',
    );
    assert.deepEqual((await work.get(`${jobs}/short`)).metadata.finalizers, ['foregroundDeletion']);
    assert.equal((await work.get(`${jobs}/kept`)).metadata.deletionTimestamp, undefined);
  });
});

describe('pods of nodes that are gone', () => {
  it('are removed when the node has been missing for long', async () => {
    const clock = new ManualClock();
    await work.make('/api/v1/nodes', 'here', {});
    await work.make(podsPath, 'lost', { ...podSpec, nodeName: 'gone' }, podMetadata);
    await work.make(podsPath, 'fine', { ...podSpec, nodeName: 'here' }, podMetadata);
    controllers.start(['podgc'], { clock });
    for (let passed = 0; passed < limits.missingNodeMs; passed += limits.podCollectionMs) {
      await until(() => clock.pending > 0, 'a pass is over');
      assert.deepEqual(await work.names(), ['fine', 'lost']);
      clock.advance(limits.podCollectionMs);
    }
    await until(async () => (await work.names()).join() === 'fine', 'it is removed');
    const statuses = controllers.transport.requests.filter((each) => each === `PATCH ${podsPath}/lost/status`);
    assert.equal(statuses.length, 1);
  });
});
