import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { Pod } from '../../src/kinds/core/pod/pod-schema.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, replicasOf, Workloads } from '../support/workloads.ts';

/** Stateful sets on simulated nodes, by a clock that the test drives. */
let clock = new ManualClock();
const controllers = controllersForEach(() => {
  clock = new ManualClock();
  return clock;
});
const work = new Workloads(controllers);
const path = '/apis/apps/v1/namespaces/ns/statefulsets/web';
const claimsPath = '/api/v1/namespaces/ns/persistentvolumeclaims';
const claimTemplate = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

const make = (replicas: number, more: object = {}) =>
  work.make('/apis/apps/v1/namespaces/ns/statefulsets', 'web', replicasOf(replicas, { serviceName: 'web', ...more }));
const start = (): void => controllers.start(['statefulset', 'simulated-nodes'], { simulatedNodes: 1 });
const scale = (replicas: number) => work.patch(path, { spec: { replicas } });
const changeImage = (image: string) =>
  work.patch(path, { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } });

interface Seen {
  readonly status: Readonly<Record<string, unknown>>;
  readonly pods: readonly Pod[];
}

/** Lets time pass until the status and the pods are as they should be; watches every state on the way. */
async function passes(holds: (seen: Seen) => boolean, watch: (seen: Seen) => void = () => {}): Promise<void> {
  let seen: Seen = { status: {}, pods: [] };
  await until(
    async () => {
      clock.advance(100);
      const { status = {} } = (await work.get(path)) as unknown as Partial<Seen>;
      seen = { status, pods: await work.pods() };
      watch(seen);
      return holds(seen);
    },
    () => JSON.stringify(seen.status),
  );
}
const isUp =
  (count: number) =>
  ({ status, pods }: Seen): boolean =>
    status['availableReplicas'] === count && status['replicas'] === count && pods.length === count;
const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
const names = (pods: readonly Pod[]): string =>
  pods
    .map(({ metadata }) => metadata?.name)
    .sort()
    .join();
const images = (pods: readonly Pod[]): string =>
  [...pods]
    .sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1))
    .map(({ spec }) => spec?.containers[0]?.image)
    .join();
const claims = async (): Promise<string> =>
  (await work.list(claimsPath))
    .map(({ metadata }) => metadata.name)
    .sort()
    .join();

describe('StatefulSet', () => {
  it('pods come one after the other, each with its name, labels and claim, and go from the last one', async () => {
    start();
    await make(3, { volumeClaimTemplates: [claimTemplate], ordinals: { start: 5 } });
    await passes(isUp(3), ({ pods }) => assert.ok(pods.filter((pod) => !isReady(pod)).length <= 1));
    const pods = await work.pods();
    assert.equal(names(pods), 'web-5,web-6,web-7');
    const { status } = (await work.get(path)) as unknown as Seen;
    for (const { metadata, spec } of pods) {
      const name = metadata?.name ?? '';
      assert.deepEqual(metadata?.labels, {
        ...{ app: 'x', 'statefulset.orch.io/pod-name': name, 'apps.orch.io/pod-index': name.slice(4) },
        'controller-revision-hash': status['updateRevision'],
      });
      assert.deepEqual([spec?.hostname, spec?.subdomain], [name, 'web']);
      assert.equal(spec?.volumes?.[0]?.persistentVolumeClaim?.claimName, `data-${name}`);
    }
    assert.equal(await claims(), 'data-web-5,data-web-6,data-web-7');
    await scale(1);
    await passes(isUp(1), ({ pods: left }) =>
      assert.ok(left.filter(({ metadata }) => metadata?.deletionTimestamp).length <= 1),
    );
    assert.equal(await claims(), 'data-web-5,data-web-6,data-web-7');
    const expected = [
      'SuccessfulCreate: create Claim data-web-5 Pod web-5 in StatefulSet web success',
      'SuccessfulCreate: create Pod web-5 in StatefulSet web successful',
      'SuccessfulDelete: delete Pod web-7 in StatefulSet web successful',
    ];
    await until(async () => {
      const events = await work.events('web');
      return expected.every((each) => events.includes(each));
    }, 'the events are there');
  });

  it('Parallel does not wait', async () => {
    start();
    await make(3, { podManagementPolicy: 'Parallel' });
    await work.count(3);
    await passes(isUp(3));
    await scale(0);
    await passes(isUp(0));
  });

  it('a template is rolled out from the last pod down to the partition, and back', async () => {
    start();
    await make(3, {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
      revisionHistoryLimit: 0,
    });
    await passes(isUp(3));
    const { status: before } = (await work.get(path)) as unknown as Seen;
    await changeImage('img:2');
    await passes((seen) => isUp(3)(seen) && images(seen.pods) === 'img:1,img:1,img:2');
    await work.remove(`${podsPath}/web-0`);
    await passes((seen) => names(seen.pods.filter(isReady)) === 'web-1,web-2');
    await passes((seen) => isUp(3)(seen) && images(seen.pods) === 'img:1,img:1,img:2');
    await work.patch(path, { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
    await passes(
      (seen) => isUp(3)(seen) && seen.status['currentRevision'] === seen.status['updateRevision'],
      ({ pods }) => assert.ok(pods.filter(isReady).length >= 2),
    );
    assert.equal(images(await work.pods()), 'img:2,img:2,img:2');
    const revisions = () => work.list('/apis/apps/v1/namespaces/ns/controllerrevisions');
    await until(async () => (await revisions()).length === 1, 'the former revision goes');
    await changeImage('img:1');
    await passes(
      (seen) =>
        isUp(3)(seen) &&
        images(seen.pods) === 'img:1,img:1,img:1' &&
        seen.status['currentRevision'] === before['currentRevision'],
    );
  });

  it('an undo while pods are drained waits until these are back, and then replaces what was updated', async () => {
    start();
    await make(3);
    await passes(isUp(3));
    await changeImage('img:2');
    await passes((seen) => isUp(3)(seen) && images(seen.pods) === 'img:1,img:1,img:2');
    await work.remove(`${podsPath}/web-0`);
    await changeImage('img:1');
    const order: string[] = [];
    await passes(
      (seen) => isUp(3)(seen) && images(seen.pods) === 'img:1,img:1,img:1' && seen.status['updatedReplicas'] === 3,
      ({ pods }) => {
        for (const { metadata, spec } of pods) {
          const change = `${metadata?.deletionTimestamp ? 'from' : 'at'} ${metadata?.name} ${spec?.containers[0]?.image}`;
          if (!order.includes(change)) order.push(change);
        }
        const isLeaving = pods.some(
          ({ metadata }) => metadata?.name === 'web-2' && metadata.deletionTimestamp !== undefined,
        );
        const others = pods.filter((pod) => pod.metadata?.name !== 'web-2' && isReady(pod));
        assert.ok(!isLeaving || others.length === 2, 'the updated pod goes before the drained one is back');
      },
    );
    assert.ok(order.includes('from web-2 img:2'), order.join('; '));
    const { status } = (await work.get(path)) as unknown as Seen;
    assert.equal(status['currentRevision'], status['updateRevision']);
  });

  it('with OnDelete, pods are replaced that somebody deletes; one that failed is replaced', async () => {
    start();
    await make(2, { updateStrategy: { type: 'OnDelete' } });
    await passes(isUp(2));
    await changeImage('img:2');
    await passes(({ status }) => status['observedGeneration'] === 2);
    await work.remove(`${podsPath}/web-0`);
    await passes((seen) => isUp(2)(seen) && images(seen.pods) === 'img:2,img:1');
    await work.patch(`${podsPath}/web-1/status`, { status: { phase: 'Failed' } });
    await passes((seen) => isUp(2)(seen) && images(seen.pods) === 'img:2,img:2');
  });

  it('claims belong to the set or to surplus pods, as the retention policy asks', async () => {
    start();
    const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' };
    await make(2, { volumeClaimTemplates: [claimTemplate], persistentVolumeClaimRetentionPolicy: policy });
    await passes(isUp(2));
    const owners = async (): Promise<string> =>
      (await work.list(claimsPath))
        .map(({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind).join())
        .join(' ');
    await until(async () => (await owners()) === 'StatefulSet StatefulSet', 'both belong to the set');
    await scale(1);
    await passes(isUp(1));
    assert.equal(await owners(), 'StatefulSet Pod');
    await work.patch(path, {
      spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } },
    });
    await until(async () => (await owners()) === ' Pod', 'that of the wanted pod belongs to nobody');
  });
});
