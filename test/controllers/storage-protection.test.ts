import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { conflict } from '../../src/meta/status-error.ts';
import { controllersForEach } from '../support/registry-controllers.ts';

/** The controllers that let claims and volumes go, over a registry: without admission, so that finalizers are their own work. */

const claims = '/api/v1/namespaces/n/persistentvolumeclaims';
const pods = '/api/v1/namespaces/n/pods';
const volumes = '/api/v1/persistentvolumes';
const claimProtection = 'orch.io/pvc-protection';
const volumeProtection = 'orch.io/pv-protection';
const modes = { accessModes: ['ReadWriteOnce'] };

const controllers = controllersForEach();
const { call, object } = {
  call: (method: string, path: string, body?: object) => controllers.fixture.call(method, path, body),
  object: (method: string, path: string, body?: object) => controllers.fixture.object(method, path, body),
};
const startClaims = (): void => controllers.start(['pvc-protection']);
const startVolumes = (): void => controllers.start(['pv-protection']);

const makeClaim = (name: string, metadata: object = { finalizers: [claimProtection] }): Promise<ApiObject> =>
  object('POST', claims, {
    metadata: { name, ...metadata },
    spec: { ...modes, resources: { requests: { storage: '1Gi' } } },
  });
const makeVolume = (name: string, metadata: object = { finalizers: [volumeProtection] }): Promise<ApiObject> =>
  object('POST', volumes, {
    metadata: { name, ...metadata },
    spec: { ...modes, capacity: { storage: '1Gi' }, hostPath: { path: '/data' } },
  });

interface PodShape {
  readonly nodeName?: string;
  readonly volume?: object;
}

const claimed = (claimName: string): object => ({ persistentVolumeClaim: { claimName } });
const ephemeral = {
  ephemeral: { volumeClaimTemplate: { spec: { ...modes, resources: { requests: { storage: '1Gi' } } } } },
};

const makePod = (name: string, { nodeName = 'n1', volume = claimed('used') }: PodShape = {}): Promise<ApiObject> =>
  object('POST', pods, {
    metadata: { name },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', ...volume }] },
  });
const removePod = (name: string): Promise<unknown> => call('DELETE', `${pods}/${name}?gracePeriodSeconds=0`);

const exists = (path: string): Promise<boolean> =>
  object('GET', path).then(
    () => true,
    () => false,
  );
const gone = (path: string): Promise<void> => until(async () => !(await exists(path)), `${path} stays`);
const finalizersOf = async (path: string): Promise<readonly string[]> =>
  (await object('GET', path)).metadata.finalizers ?? [];
const isFreed = (name: string): boolean => controllers.transport.requests.includes(`PUT ${claims}/${name}`);

/** Waits until the controller has looked at all claims that were there: one without users goes. */
async function isLookedAt(): Promise<void> {
  await makeClaim('unused');
  await call('DELETE', `${claims}/unused`);
  await gone(`${claims}/unused`);
}

describe('claims that are to be deleted', () => {
  it('go if no pod uses them, also those that were deleted before the start', async () => {
    for (const name of ['a', 'b', 'c']) await makeClaim(name);
    await call('DELETE', `${claims}/a`);
    startClaims();
    await gone(`${claims}/a`);
    await call('DELETE', `${claims}/b`);
    await gone(`${claims}/b`);
    assert.deepEqual(await finalizersOf(`${claims}/c`), [claimProtection]);
  });

  it('keep the finalizers of others', async () => {
    await makeClaim('a', { finalizers: ['example.com/mine', claimProtection] });
    await call('DELETE', `${claims}/a`);
    startClaims();
    await until(async () => !(await finalizersOf(`${claims}/a`)).includes(claimProtection), 'the finalizer stays');
    assert.deepEqual(await finalizersOf(`${claims}/a`), ['example.com/mine']);
  });

  it('stay while a pod on a node uses them, whatever its phase', async () => {
    await makeClaim('used');
    for (const name of ['one', 'two']) await makePod(name);
    await call('DELETE', `${claims}/used`);
    startClaims();
    await isLookedAt();
    await removePod('one');
    await isLookedAt();
    await object('PATCH', `${pods}/two/status`, { status: { phase: 'Succeeded' } });
    await isLookedAt();
    assert.ok(!isFreed('used'));
    await removePod('two');
    await gone(`${claims}/used`);
  });

  it('stay for a pod that came after the deletion', async () => {
    await makeClaim('used');
    await makePod('one');
    await call('DELETE', `${claims}/used`);
    startClaims();
    await isLookedAt();
    await makePod('two');
    await removePod('one');
    await isLookedAt();
    assert.ok(!isFreed('used'));
    await removePod('two');
    await gone(`${claims}/used`);
  });

  it('do not wait for a pod without a node, for other volumes, or for another namespace', async () => {
    await makeClaim('used');
    await makePod('unplaced', { nodeName: '' });
    await makePod('other', { volume: claimed('other') });
    await makePod('empty', { volume: { emptyDir: {} } });
    await object('POST', pods.replace('/n/', '/m/'), {
      metadata: { name: 'elsewhere' },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', ...claimed('used') }] },
    });
    await call('DELETE', `${claims}/used`);
    startClaims();
    await gone(`${claims}/used`);
  });

  it('that were made for an ephemeral volume stay for their pod alone', async () => {
    const pod = await makePod('p', { volume: ephemeral });
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true };
    await makeClaim('p-v', { finalizers: [claimProtection], ownerReferences: [owner] });
    await call('DELETE', `${claims}/p-v`);
    startClaims();
    await isLookedAt();
    assert.ok(!isFreed('p-v'));
    await removePod('p');
    await gone(`${claims}/p-v`);
    // A claim of that name that is somebody else's.
    await makePod('p', { volume: ephemeral });
    await makeClaim('p-v');
    await call('DELETE', `${claims}/p-v`);
    await gone(`${claims}/p-v`);
  });

  it('do not wait for a pod that its node has ended, and whose own finalizers keep it', async () => {
    const pod = await object('POST', pods, {
      metadata: { name: 'p', finalizers: ['example.com/mine'] },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', ...ephemeral }] },
    });
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true };
    await makeClaim('p-v', { finalizers: [claimProtection], ownerReferences: [owner] });
    await call('DELETE', `${claims}/p-v`);
    startClaims();
    await isLookedAt();
    assert.ok(!isFreed('p-v'));
    await removePod('p');
    await gone(`${claims}/p-v`);
    assert.ok(await exists(`${pods}/p`));
  });

  it('are tried again when the write fails, and hold up no others', async () => {
    let failures = 0;
    controllers.transport.failure = ({ method, target }) =>
      method === 'PUT' && target === `${claims}/a` && failures++ < 2
        ? conflict({ group: '', resource: 'persistentvolumeclaims' }, 'a', 'changed')
        : undefined;
    for (const name of ['a', 'b']) await makeClaim(name);
    for (const name of ['a', 'b']) await call('DELETE', `${claims}/${name}`);
    startClaims();
    await Promise.all([gone(`${claims}/a`), gone(`${claims}/b`)]);
    assert.equal(failures, 3);
  });

  it('are looked at with one list of pods for all of a namespace', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `c${at}`);
    for (const name of names) await makeClaim(name);
    for (const name of names) await call('DELETE', `${claims}/${name}`);
    startClaims();
    await Promise.all(names.map((name) => gone(`${claims}/${name}`)));
    const lists = controllers.transport.requests.filter((each) => each.startsWith(`GET ${pods}?`));
    assert.ok(lists.length < 10, `${lists.length} lists`);
  });

  it('have pods followed only while they wait for some', async () => {
    const watches = () =>
      controllers.transport.requests.filter((each) => each.startsWith('GET /api/v1/pods?') && each.includes('watch'))
        .length;
    startClaims();
    await isLookedAt();
    assert.equal(watches(), 0);
    await makeClaim('used');
    await makePod('one');
    await call('DELETE', `${claims}/used`);
    await until(() => watches() === 1, 'pods are not followed');
    await removePod('one');
    await gone(`${claims}/used`);
  });
});

describe('volumes that are to be deleted', () => {
  const setPhase = (name: string, phase: string): Promise<ApiObject> =>
    object('PATCH', `${volumes}/${name}/status`, { status: { phase } });

  it('go unless they are bound', async () => {
    for (const name of ['bound', 'released', 'fresh']) await makeVolume(name);
    await setPhase('bound', 'Bound');
    await setPhase('released', 'Released');
    for (const name of ['bound', 'released', 'fresh']) await call('DELETE', `${volumes}/${name}`);
    startVolumes();
    await Promise.all([gone(`${volumes}/released`), gone(`${volumes}/fresh`)]);
    assert.deepEqual(await finalizersOf(`${volumes}/bound`), [volumeProtection]);
    await setPhase('bound', 'Released');
    await gone(`${volumes}/bound`);
  });
});

it('claims and volumes that were made without the finalizer get it', async () => {
  await makeClaim('a', {});
  await makeVolume('a', { finalizers: ['example.com/mine'] });
  controllers.start(['pvc-protection', 'pv-protection']);
  await makeClaim('b', {});
  for (const path of [`${claims}/a`, `${claims}/b`]) {
    await until(async () => (await finalizersOf(path)).join() === claimProtection, 'the claim has no finalizer');
  }
  const both = `example.com/mine,${volumeProtection}`;
  await until(async () => (await finalizersOf(`${volumes}/a`)).join() === both, 'the volume has no finalizer');
});

it('another object of that name is left alone', async () => {
  await makeClaim('a', { finalizers: [claimProtection] });
  await call('DELETE', `${claims}/a`);
  let replaced: Promise<unknown> | undefined;
  controllers.transport.hold = ({ method, target }) => {
    if (method !== 'GET' || target !== `${claims}/a` || replaced) return undefined;
    replaced = (async () => {
      await object('PATCH', `${claims}/a`, { metadata: { finalizers: null } });
      await makeClaim('a', { finalizers: ['example.com/mine', claimProtection] });
      await call('DELETE', `${claims}/a`);
    })();
    return replaced.then(() => {});
  };
  startClaims();
  await until(async () => (await finalizersOf(`${claims}/a`)).join() === 'example.com/mine', 'the new claim is stuck');
  await replaced;
});
