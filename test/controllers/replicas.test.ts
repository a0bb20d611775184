import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { forbiddenObject } from '../../src/meta/status-error.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, replicasOf, template, Workloads } from '../support/workloads.ts';

/** Replica sets and replication controllers over a registry: one controller for both, tested by one table. */
const controllers = controllersForEach();
const work = new Workloads(controllers);

const kinds = [
  {
    kind: 'ReplicaSet',
    controller: 'replicaset',
    collection: '/apis/apps/v1/namespaces/ns/replicasets',
    specOf: replicasOf,
  },
  {
    kind: 'ReplicationController',
    controller: 'replicationcontroller',
    collection: '/api/v1/namespaces/ns/replicationcontrollers',
    specOf: (replicas: number, more: object = {}) => replicasOf(replicas, { selector: { app: 'x' }, ...more }),
  },
] as const;

const requestsOf = (method: string): number =>
  controllers.transport.requests.filter((each) => each === `${method} ${podsPath}`).length;

for (const { kind, controller, collection, specOf } of kinds) {
  const path = `${collection}/web`;
  const start = (): void => controllers.start([controller]);
  const scale = (replicas: number) => work.patch(path, { spec: { replicas } });

  describe(kind, () => {
    it('pods are made from the template, and counted', async () => {
      start();
      const owner = await work.make(collection, 'web', specOf(3));
      await work.count(3);
      await work.status(path, {
        replicas: 3,
        fullyLabeledReplicas: 3,
        readyReplicas: undefined,
        observedGeneration: 1,
      });
      const pods = await work.pods();
      for (const { metadata = {}, spec } of pods) {
        assert.match(metadata.name ?? '', /^web-[a-z0-9]{5}$/);
        assert.deepEqual(metadata.labels, { app: 'x' });
        assert.deepEqual(metadata.ownerReferences, [
          {
            ...{ apiVersion: owner.apiVersion, kind, name: 'web', uid: owner.metadata.uid },
            ...{ controller: true, blockOwnerDeletion: true },
          },
        ]);
        assert.equal(spec?.containers[0]?.image, 'img:1');
      }
      await until(async () => (await work.events('web')).length === 3, 'there are three events');
      assert.deepEqual(
        [...(await work.events('web'))].sort(),
        pods.map(({ metadata }) => `SuccessfulCreate: Created pod: ${metadata?.name}`).sort(),
      );
    });

    it('pods that are ready count, and those that have been for long enough are available', async () => {
      start();
      await work.make(collection, 'web', specOf(2, { minReadySeconds: 1_000 }));
      await work.count(2);
      const [one = '', two = ''] = await work.names();
      await work.ready(one, controllers.fixture.clock.now() - 2_000_000);
      await work.ready(two, controllers.fixture.clock.now());
      await work.status(path, { replicas: 2, readyReplicas: 2, availableReplicas: 1 });
    });

    it('a pod that is deleted, or ends, is replaced', async () => {
      start();
      await work.make(collection, 'web', specOf(2));
      await work.count(2);
      const [one = '', two = ''] = await work.names();
      await work.remove(`${podsPath}/${one}`);
      await until(
        async () => !(await work.names()).includes(one) && (await work.names()).length === 2,
        'it is replaced',
      );
      await work.patch(`${podsPath}/${two}/status`, { status: { phase: 'Failed' } });
      await work.count(3);
      await work.status(path, { replicas: 2 });
    });

    it('of too many pods those go first that are worth least', async () => {
      start();
      await work.make(collection, 'web', specOf(4));
      await work.count(4);
      const names = await work.names();
      const [cheap = '', dear = '', , ready = ''] = names;
      await work.patch(`${podsPath}/${cheap}`, {
        metadata: { annotations: { 'controller.orch.io/pod-deletion-cost': '-5' } },
      });
      await work.patch(`${podsPath}/${dear}`, {
        metadata: { annotations: { 'controller.orch.io/pod-deletion-cost': '7' } },
      });
      // Watches of two kinds have no common order: what is ready last is seen last.
      for (const name of [cheap, dear, ready]) await work.ready(name, 1_000_000);
      await work.status(path, { readyReplicas: 3 });
      await scale(1);
      // Pods on nodes go gracefully: what is left of them is up to the node.
      const staying = async (): Promise<readonly string[]> =>
        (await work.pods())
          .filter(({ metadata }) => !metadata?.deletionTimestamp)
          .map(({ metadata }) => metadata?.name ?? '');
      await until(async () => (await staying()).join() === dear, 'the dearest one stays');
      assert.deepEqual([...(await work.names())].sort(), [cheap, dear, ready].sort());
      await work.status(path, { replicas: 1 });
    });

    it('orphans that are selected are adopted, and pods that are no longer selected are released', async () => {
      const { metadata, spec } = template() as { metadata: object; spec: object };
      await work.make(podsPath, 'mine', spec, metadata);
      await work.make(podsPath, 'other', spec, { labels: { app: 'y' } });
      start();
      const { metadata: owner } = await work.make(collection, 'web', specOf(2));
      const ownerOf = async (name: string) =>
        (await work.get(`${podsPath}/${name}`)).metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
      await until(async () => (await ownerOf('mine')).length === 1, 'it is adopted');
      assert.deepEqual(await ownerOf('mine'), [owner.uid]);
      assert.deepEqual(await ownerOf('other'), []);
      await work.count(3);
      await work.patch(`${podsPath}/mine`, { metadata: { labels: { app: 'z' } } });
      await work.count(4);
      assert.deepEqual(await ownerOf('mine'), []);
    });

    it('what it has written is not written again before the watch shows it', async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      controllers.transport.hold = ({ target }) => (/\/pods\?watch/.test(target) ? held : undefined);
      start();
      await work.make(collection, 'web', specOf(1));
      await work.count(1);
      for (let change = 0; change < 5; change++)
        await work.patch(path, { metadata: { annotations: { n: `${change}` } } });
      await scale(3);
      release();
      await work.count(3);
      await work.status(path, { replicas: 3 });
      assert.equal(requestsOf('POST'), 3);
    });

    it('a refusal is told, tried again slowly, and forgotten when it has passed', async () => {
      const refusal = 'exceeded quota';
      controllers.transport.failure = ({ method, target }) =>
        method === 'POST' && target === podsPath
          ? forbiddenObject({ group: '', resource: 'pods' }, '', refusal)
          : undefined;
      start();
      await work.make(collection, 'web', specOf(50));
      const conditionOf = async (): Promise<Readonly<Record<string, unknown>> | undefined> =>
        ((await work.get(path))['status'] as { conditions?: readonly Record<string, unknown>[] }).conditions?.[0];
      await until(async () => (await conditionOf()) !== undefined, 'the failure is in the status');
      const { lastTransitionTime, ...condition } = (await conditionOf()) ?? {};
      assert.ok(lastTransitionTime);
      const message = `pods is forbidden: ${refusal}`;
      assert.deepEqual(condition, { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message });
      await until(async () =>
        (await work.events('web')).some((each) => each.startsWith('FailedCreate: Error creating: ')),
      );
      // One at a time.
      assert.ok(requestsOf('POST') < 30, `${requestsOf('POST')} attempts`);
      controllers.transport.failure = () => undefined;
      await work.count(50);
      await work.status(path, { replicas: 50, conditions: undefined });
    });

    it('one that is being deleted creates, adopts and releases nothing', async () => {
      await work.make(collection, 'web', specOf(2), { finalizers: ['example.com/stay'] });
      await work.remove(path);
      const { metadata, spec } = template() as { metadata: object; spec: object };
      await work.make(podsPath, 'mine', spec, metadata);
      start();
      await work.status(path, { replicas: 0, observedGeneration: 2 });
      assert.deepEqual(await work.names(), ['mine']);
    });

    it('a controller that ends in the middle leaves nothing that the next one does twice', async () => {
      let created = 0;
      const stopped = Promise.withResolvers<void>();
      controllers.transport.hold = ({ method, target }) => {
        if (method !== 'POST' || target !== podsPath) return undefined;
        created += 1;
        if (created === 40) stopped.resolve();
        return undefined;
      };
      start();
      await work.make(collection, 'web', specOf(100));
      await stopped.promise;
      controllers.stop();
      start();
      await work.status(path, { replicas: 100 });
      await work.count(100);
      await scale(10);
      await work.count(10);
    });
  });
}

describe('pods of two objects', () => {
  it('an object never takes the pods of another, though it selects them', async () => {
    const [{ collection, specOf }] = kinds;
    controllers.start(['replicaset', 'replicationcontroller']);
    const uids = new Set<string>();
    for (const name of ['a', 'b', 'c']) uids.add((await work.make(collection, name, specOf(2))).metadata.uid ?? '');
    const { metadata } = await work.make(kinds[1].collection, 'd', kinds[1].specOf(2));
    uids.add(metadata.uid ?? '');
    await work.count(8);
    const owners = new Map<string, number>();
    for (const { metadata: { ownerReferences = [] } = {} } of await work.pods()) {
      for (const { uid = '' } of ownerReferences) owners.set(uid, (owners.get(uid) ?? 0) + 1);
    }
    assert.deepEqual(owners, new Map([...uids].map((uid) => [uid, 2])));
  });
});
