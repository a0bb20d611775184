import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { Pod } from '../../src/kinds/core/pod/pod-schema.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, selector, template, Workloads } from '../support/workloads.ts';

/** Daemon sets on simulated nodes, by a clock that the test drives. */
let clock = new ManualClock();
const controllers = controllersForEach(() => {
  clock = new ManualClock();
  return clock;
});
const work = new Workloads(controllers);
const collection = '/apis/apps/v1/namespaces/ns/daemonsets';
const path = `${collection}/agent`;

const make = (more: object = {}) => work.make(collection, 'agent', { selector, template: template(), ...more });
const start = (): void => controllers.start(['daemonset', 'simulated-nodes'], { simulatedNodes: 3 });

interface Seen {
  readonly status: Readonly<Record<string, number | undefined>>;
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
    () => JSON.stringify(seen),
  );
}
const isUp = ({ status }: Seen): boolean => status['numberAvailable'] === 3 && status['updatedNumberScheduled'] === 3;
const images = (pods: readonly Pod[]): string =>
  [...new Set(pods.map(({ spec }) => spec?.containers[0]?.image))].join();
const revisions = () => work.list('/apis/apps/v1/namespaces/ns/controllerrevisions');
const changeImage = (image: string) =>
  work.patch(path, { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } });

describe('DaemonSet', () => {
  it('each node gets a pod, and nodes that are closed to it lose theirs', async () => {
    start();
    await make();
    await passes(isUp);
    const pods = await work.pods();
    assert.deepEqual(
      pods.map(({ spec }) => spec?.nodeName).sort(),
      (await work.list('/api/v1/nodes')).map(({ metadata }) => metadata.name).sort(),
    );
    const [revision] = await revisions();
    for (const { metadata, spec } of pods) {
      assert.equal(
        metadata?.labels?.['controller-revision-hash'],
        revision?.metadata.labels?.['controller-revision-hash'],
      );
      assert.equal(metadata?.labels?.['pod-template-generation'], '1');
      assert.ok((spec?.tolerations?.length ?? 0) >= 6);
    }
    const [node = ''] = pods.map(({ spec }) => spec?.nodeName ?? '');
    await work.patch(`/api/v1/nodes/${node}`, { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
    await passes(({ status, pods: left }) => left.length === 2 && status['desiredNumberScheduled'] === 2);
    await work.patch(`/api/v1/nodes/${node}`, { spec: { taints: null } });
    await passes(isUp);
    assert.ok((await work.events('agent')).some((each) => /^SuccessfulDelete: Deleted pod: agent-/.test(each)));
  });

  for (const [what, rollingUpdate, check] of [
    ['one after the other', { maxUnavailable: 1 }, ({ pods }: Seen) => assert.ok(pods.length <= 3)],
    [
      'by a second pod',
      { maxUnavailable: 0, maxSurge: 1 },
      ({ status }: Seen) => assert.equal(status['numberUnavailable'] ?? 0, 0),
    ],
  ] as const) {
    it(`a template is rolled out ${what}, and its former one again`, async () => {
      start();
      await make({ updateStrategy: { type: 'RollingUpdate', rollingUpdate }, revisionHistoryLimit: 1 });
      await passes(isUp);
      for (const [image, count] of [
        ['img:2', 2],
        ['img:3', 2],
        ['img:2', 2],
      ] as const) {
        const { metadata } = await changeImage(image);
        await passes(
          (seen) =>
            isUp(seen) &&
            seen.status['observedGeneration'] === metadata.generation &&
            images(seen.pods) === image &&
            seen.pods.length === 3,
          check,
        );
        await until(async () => (await revisions()).length === count, `${count} revisions are left`);
      }
      assert.deepEqual((await revisions()).map((each) => each['revision']).sort(), [3, 4]);
    });
  }

  it('with OnDelete, pods are replaced that somebody deletes', async () => {
    start();
    await make({ updateStrategy: { type: 'OnDelete' } });
    await passes(isUp);
    await changeImage('img:2');
    await passes(({ status }) => status['observedGeneration'] === 2 && status['updatedNumberScheduled'] === undefined);
    const [name = ''] = await work.names();
    await work.remove(`${podsPath}/${name}`);
    await passes(({ status }) => status['updatedNumberScheduled'] === 1 && status['numberAvailable'] === 3);
    assert.equal(images(await work.pods()).split(',').length, 2);
  });

  it('a pod that failed is replaced, the next one of its node after a pause', async () => {
    start();
    await make();
    await passes(isUp);
    const fail = async (): Promise<string> => {
      const name = (await work.pods()).find(({ spec }) => spec?.nodeName === node)?.metadata?.name ?? '';
      await work.patch(`${podsPath}/${name}/status`, { status: { phase: 'Failed' } });
      return name;
    };
    const node = (await work.pods())[0]?.spec?.nodeName ?? '';
    for (let round = 0; round < 2; round++) {
      const name = await fail();
      await passes((seen) => isUp(seen) && seen.pods.every(({ metadata }) => metadata?.name !== name));
    }
    const found = /^FailedDaemonPod: Found failed daemon pod ns\/agent-\w+ on node \S+, will try to kill it$/;
    await until(async () => (await work.events('agent')).filter((each) => found.test(each)).length === 2, 'two events');
  });
});
