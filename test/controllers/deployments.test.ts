import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { isReady } from '../../src/controllers/workloads/pod-state.ts';
import { asDeployment } from '../../src/kinds/apps/deployment.ts';
import { asReplicaSet } from '../../src/kinds/apps/replica-set.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { replicasOf, selector, template, Workloads } from '../support/workloads.ts';

/** Deployments over a registry, with replica sets below them and simulated nodes below those. */
const controllers = controllersForEach();
const work = new Workloads(controllers);

const deployments = '/apis/apps/v1/namespaces/ns/deployments';
const sets = '/apis/apps/v1/namespaces/ns/replicasets';
const path = `${deployments}/web`;
const all = ['deployment', 'replicaset', 'simulated-nodes'];
/** Pods that are ready, and gone, at once. */
const quick = {
  'simulation.orch.io/start-seconds': '0',
  'simulation.orch.io/stop-seconds': '0',
};
const templateOf = (image: string, annotations: object = quick): object => {
  const { metadata } = template() as { metadata: object };
  return { metadata: { ...metadata, annotations }, spec: { containers: [{ name: 'c', image }] } };
};
const specOf = (replicas: number, image = 'img:1', more: object = {}): object =>
  replicasOf(replicas, { template: templateOf(image), ...more });
const setImage = (image: string, annotations: object = quick) =>
  work.patch(path, { spec: { template: templateOf(image, annotations) } });

const deployment = async () => asDeployment(await work.get(path));
const conditionOf = async (type: string) => {
  const { status } = await deployment();
  const {
    lastUpdateTime: _u,
    lastTransitionTime: _t,
    ...condition
  } = status?.conditions?.find((each) => each.type === type) ?? {};
  return condition;
};
const rolledOut = (replicas: number, generation?: number): Promise<void> =>
  until(
    async () => {
      const { metadata, status } = await deployment();
      return (
        status?.observedGeneration === (generation ?? metadata?.generation) &&
        status?.replicas === replicas &&
        status.updatedReplicas === replicas &&
        status.availableReplicas === replicas &&
        status.conditions?.some(({ reason }) => reason === 'NewReplicaSetAvailable') === true
      );
    },
    () => 'it is not rolled out',
  );
/** Images of the replica sets with their sizes and revisions, by revision. */
const revisions = async (): Promise<readonly string[]> =>
  (await work.list(sets))
    .map((object) => ({ object, revision: Number(object.metadata.annotations?.['deployment.orch.io/revision']) }))
    .sort((a, b) => a.revision - b.revision)
    .map(({ object, revision }) => {
      const { spec } = asReplicaSet(object);
      return `${revision}: ${spec?.template?.spec?.containers[0]?.image} ${spec?.replicas}`;
    });
const isReplaced = async (expected: readonly string[]): Promise<void> => {
  let last: readonly string[] = [];
  await until(
    async () => {
      last = await revisions();
      return last.join() === expected.join();
    },
    () => `${last.join()} instead of ${expected.join()}`,
  );
};

describe('a deployment', () => {
  it('rolls out its template', async () => {
    controllers.start(all);
    const owner = await work.make(deployments, 'web', specOf(3), { annotations: { note: 'x' } });
    await rolledOut(3);
    const [set, ...others] = await work.list(sets);
    assert.ok(set);
    assert.equal(others.length, 0);
    const hash = set.metadata.labels?.['pod-template-hash'] ?? '';
    assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{5,10}$/);
    assert.equal(set.metadata.name, `web-${hash}`);
    assert.deepEqual(set.metadata.annotations, {
      note: 'x',
      'deployment.orch.io/desired-replicas': '3',
      'deployment.orch.io/max-replicas': '4',
      'deployment.orch.io/revision': '1',
    });
    assert.deepEqual(set.metadata.ownerReferences, [
      {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: owner.metadata.uid },
        ...{ controller: true, blockOwnerDeletion: true },
      },
    ]);
    const { spec } = asReplicaSet(set);
    assert.deepEqual(spec?.selector, { matchLabels: { ...selector.matchLabels, 'pod-template-hash': hash } });
    assert.deepEqual(spec?.template?.metadata?.labels, { app: 'x', 'pod-template-hash': hash });
    const { metadata, status } = await deployment();
    assert.equal(metadata?.annotations?.['deployment.orch.io/revision'], '1');
    const { conditions: _, ...counts } = status ?? {};
    assert.deepEqual(counts, {
      ...{ observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 },
    });
    assert.deepEqual(await conditionOf('Available'), {
      ...{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
      message: 'Deployment has minimum availability.',
    });
    assert.deepEqual(await conditionOf('Progressing'), {
      ...{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
      message: `ReplicaSet "web-${hash}" has successfully progressed.`,
    });
    await until(async () => (await work.events('web')).length > 0);
    assert.deepEqual(await work.events('web'), [`ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`]);
  });

  it('of 100 replicas never has too many or too few pods while it changes, and goes back', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(100));
    await rolledOut(100);
    let [least, most] = [100, 100];
    controllers.transport.hold = ({ method, target }) => {
      if (!/^\/api\/v1\/namespaces\/ns\/pods(\/[^/?]*)?$/.test(target) || method === 'GET') return undefined;
      return work.pods().then((pods) => {
        const staying = pods.filter(({ metadata }) => !metadata?.deletionTimestamp);
        least = Math.min(least, staying.filter(isReady).length);
        most = Math.max(most, staying.length);
      });
    };
    await setImage('img:2');
    await isReplaced(['1: img:1 0', '2: img:2 100']);
    await rolledOut(100);
    controllers.transport.hold = () => undefined;
    assert.ok(least >= 75, `only ${least} pods were ready`);
    assert.ok(most <= 125, `there were ${most} pods`);
    await setImage('img:1');
    await isReplaced(['2: img:2 0', '3: img:1 100']);
    const [, back] = await work.list(sets);
    const histories = (await work.list(sets)).map(
      ({ metadata }) => metadata.annotations?.['deployment.orch.io/revision-history'],
    );
    assert.ok(back);
    assert.deepEqual(
      histories.filter((each) => each !== undefined),
      ['1'],
    );
    await rolledOut(100);
    assert.equal((await deployment()).metadata?.annotations?.['deployment.orch.io/revision'], '3');
  });

  it('is scaled without a roll-out', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(4));
    await rolledOut(4);
    await work.patch(path, { spec: { replicas: 10 } });
    await isReplaced(['1: img:1 10']);
    await rolledOut(10);
    await work.patch(path, { spec: { replicas: 2 } });
    await isReplaced(['1: img:1 2']);
    await work.count(2);
    await work.patch(path, { spec: { replicas: 0 } });
    await work.count(0);
  });

  it('keeps as many former templates as it is to', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(1, 'img:1', { revisionHistoryLimit: 1 }));
    for (const image of ['img:2', 'img:3', 'img:4']) {
      await rolledOut(1);
      await setImage(image);
    }
    await isReplaced(['3: img:3 0', '4: img:4 1']);
  });

  it('that is paused changes nothing but its size', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(2));
    await rolledOut(2);
    await work.patch(path, { spec: { paused: true, template: templateOf('img:2') } });
    await until(async () => (await conditionOf('Progressing')).reason === 'DeploymentPaused', 'it says so');
    assert.deepEqual(await conditionOf('Progressing'), {
      ...{ type: 'Progressing', status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' },
    });
    await work.patch(path, { spec: { replicas: 3 } });
    await isReplaced(['1: img:1 3']);
    await work.patch(path, { spec: { paused: false } });
    await isReplaced(['1: img:1 0', '2: img:2 3']);
    await rolledOut(3);
  });

  it('to be recreated has no pods of two templates at a time', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(5, 'img:1', { strategy: { type: 'Recreate' } }));
    await rolledOut(5);
    let mixed = false;
    controllers.transport.hold = ({ method, target }) => {
      if (method !== 'POST' || !target.endsWith('/pods')) return undefined;
      return work.pods().then((pods) => {
        mixed ||= pods.some(({ spec }) => spec?.containers[0]?.image === 'img:1');
      });
    };
    await setImage('img:2');
    await isReplaced(['1: img:1 0', '2: img:2 5']);
    await rolledOut(5);
    assert.equal(mixed, false);
  });

  it('whose pods are never ready fails after its deadline, and goes on when they are', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(4, 'img:1', { progressDeadlineSeconds: 1 }));
    await rolledOut(4);
    await setImage('img:2', { ...quick, 'simulation.orch.io/ready': 'false' });
    await until(async () => (await conditionOf('Progressing')).reason === 'ProgressDeadlineExceeded', 'it fails');
    const { status, message } = await conditionOf('Progressing');
    assert.equal(status, 'False');
    assert.match(message ?? '', /^ReplicaSet "web-[a-z0-9]+" has timed out progressing\.$/);
    assert.equal((await conditionOf('Available')).status, 'True');
    // One of four may be missing, one may be there in addition.
    await isReplaced(['1: img:1 3', '2: img:2 2']);
    await setImage('img:3', { ...quick, 'simulation.orch.io/ready': 'true' });
    await isReplaced(['1: img:1 0', '2: img:2 0', '3: img:3 4']);
    await rolledOut(4);
  });

  it('says what its replica sets fail with', async () => {
    controllers.start(all);
    controllers.transport.failure = ({ method, target }) =>
      method === 'POST' && target.endsWith('/pods') ? new Error('no room') : undefined;
    await work.make(deployments, 'web', specOf(1));
    await until(async () => (await conditionOf('ReplicaFailure')).reason === 'FailedCreate', 'it says so');
    assert.equal((await conditionOf('ReplicaFailure')).message, 'no room');
    assert.equal((await conditionOf('Available')).reason, 'MinimumReplicasUnavailable');
    controllers.transport.failure = () => undefined;
    await rolledOut(1);
    assert.deepEqual(await conditionOf('ReplicaFailure'), {});
  });

  it('finds another name where a replica set of others has its own', async () => {
    controllers.start(['deployment']);
    await work.make(deployments, 'web', specOf(1));
    let name = '';
    await until(async () => {
      name = (await work.list(sets))[0]?.metadata.name ?? '';
      return name !== '';
    });
    controllers.stop();
    await work.remove(path);
    const taken: ApiObject = await work.get(`${sets}/${name}`);
    await work.remove(`${sets}/${name}`);
    await work.make(sets, name, { ...(taken['spec'] as object), replicas: 0 }, { labels: { of: 'others' } });
    controllers.start(all);
    await work.make(deployments, 'web', specOf(1));
    await rolledOut(1);
    const { status } = await deployment();
    assert.equal(status?.collisionCount, 1);
    assert.equal((await work.list(sets)).length, 2);
  });

  it('adopts replica sets that it selects, and takes one of its template for its own', async () => {
    await work.make(sets, 'mine', specOf(2), { labels: { app: 'x' } });
    controllers.start(all);
    const { metadata } = await work.make(deployments, 'web', specOf(2));
    await rolledOut(2);
    const [set, ...others] = await work.list(sets);
    assert.equal(others.length, 0);
    assert.deepEqual(
      set?.metadata.ownerReferences?.map(({ uid }) => uid),
      [metadata.uid],
    );
  });

  for (const [what, asked, expected, event] of [
    [
      'the last revision',
      '0',
      ['2: img:2 0', '3: img:1 2'],
      'DeploymentRollback: Rolled back deployment "web" to revision 1',
    ],
    ['a revision', '1', ['2: img:2 0', '3: img:1 2'], 'DeploymentRollback: Rolled back deployment "web" to revision 1'],
    [
      'its own revision',
      '2',
      ['1: img:1 0', '2: img:2 2'],
      'DeploymentRollbackTemplateUnchanged: The rollback revision contains the same template as current deployment "web"',
    ],
    [
      'none that there is',
      '9',
      ['1: img:1 0', '2: img:2 2'],
      'DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to.',
    ],
  ] as const) {
    it(`goes back to ${what} as in the first version of the API`, async () => {
      controllers.start(all);
      await work.make(deployments, 'web', specOf(2));
      await rolledOut(2);
      await setImage('img:2');
      await rolledOut(2);
      const annotation = 'deprecated.deployment.rollback.to';
      await work.patch(path, { metadata: { annotations: { [annotation]: asked } } });
      await until(async () => (await work.events('web')).includes(event), `no event ${event}`);
      await isReplaced(expected);
      assert.equal((await deployment()).metadata?.annotations?.[annotation], undefined);
    });
  }

  it('goes on where controllers ended in the middle', async () => {
    controllers.start(all);
    await work.make(deployments, 'web', specOf(30));
    await rolledOut(30);
    for (const image of ['img:2', 'img:3']) {
      await setImage(image);
      await until(
        async () => (await work.pods()).some(({ spec }) => spec?.containers[0]?.image === image),
        'it has begun',
      );
      controllers.stop();
      controllers.start(all);
    }
    await isReplaced(['1: img:1 0', '2: img:2 0', '3: img:3 30']);
    await rolledOut(30);
    await work.count(30);
  });
});
