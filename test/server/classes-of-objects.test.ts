import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { serverUser } from '../../src/server/upkeep/bootstrap.ts';
import { Side } from '../support/in-process-server.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { Lag, SharedStore } from '../support/shared-store.ts';

/** Priority, runtime, storage and ingress classes, as objects get them on every way of writing. Rules are in the tables beside the plugins. */

interface Found {
  readonly message?: string;
  readonly metadata: { readonly uid: string; readonly finalizers?: readonly string[]; readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const core = '/api/v1/namespaces/default';
const pods = `${core}/pods`;
const claims = `${core}/persistentvolumeclaims`;
const volumes = '/api/v1/persistentvolumes';
const heavyNote = { note: 'x'.repeat(limits.lightBytesMax) };

for (const dialect of ['orch', 'kubernetes'] as const) {
  const domain = dialect === 'orch' ? 'orch.io' : 'kubernetes.io';
  const group = (name: string) => (dialect === 'orch' ? `${name}.orch.io` : `${name}.k8s.io`);
  const priorities = `/apis/${group('scheduling')}/v1/priorityclasses`;
  const runtimes = `/apis/${group('node')}/v1/runtimeclasses`;
  const storages = `/apis/${group('storage')}/v1/storageclasses`;
  const ingressClasses = `/apis/${group('networking')}/v1/ingressclasses`;
  const ingresses = `/apis/${group('networking')}/v1/namespaces/default/ingresses`;

  const podOf = (name: string, spec: object = {}, annotations: object = {}) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations } },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const claimOf = (name: string, spec: object = {}, annotations: object = {}) => ({
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, annotations } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  const backend = { service: { name: 's', port: { number: 80 } } };
  const ingressOf = (name: string, spec: object = {}, annotations: object = {}) => ({
    ...{ apiVersion: `${group('networking')}/v1`, kind: 'Ingress', metadata: { name, annotations } },
    spec: { defaultBackend: backend, ...spec },
  });
  const isDefault = (kind: 'storage' | 'ingress', value = 'true') => ({
    annotations: { [`${kind}class.${domain}/is-default-class`]: value },
  });

  describe(`classes, dialect ${dialect}`, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
      const accounts = `${core}/serviceaccounts/default`;
      await until(async () => (await server.get(accounts)).status === 200, 'there is no account for pods');
    });
    after(() => server[Symbol.asyncDispose]());

    async function send(method: string, path: string, wanted: number, body?: object, type = 'json'): Promise<Found> {
      const sent = body && { body, headers: { 'content-type': `application/${type}` } };
      const { status, json, text } = await server.request<Found>(method, path, sent);
      assert.equal(status, wanted, text);
      return json;
    }
    const refusedWith = async (message: string, ...request: Parameters<typeof send>): Promise<void> =>
      assert.equal((await send(...request)).message, message);
    const remove = (path: string) => send('DELETE', path, 200);

    type Create = (name: string, spec?: object) => Promise<Found>;
    type Make = (name: string, spec?: object, annotations?: object) => object;
    /** Every way of creating an object, and what it made. */
    const creations = (path: string, make: Make): readonly (readonly [how: string, create: Create])[] => [
      ['POST', (name, spec) => send('POST', path, 201, make(name, spec))],
      ['POST of a heavy object', (name, spec) => send('POST', path, 201, make(name, spec, heavyNote))],
      ['a dry run', (name, spec) => send('POST', `${path}?dryRun=All`, 201, make(name, spec))],
      [
        'apply',
        (name, spec) => send('PATCH', `${path}/${name}?fieldManager=me`, 201, make(name, spec), 'apply-patch+yaml'),
      ],
    ];

    it('pods have a priority, and that of the default class from the next request on', async () => {
      for (const [how, create] of creations(pods, podOf)) {
        const name = how.replaceAll(' ', '-').toLowerCase();
        const made = await create(`before-${name}`);
        assert.deepEqual([made.spec['priority'], made.spec['preemptionPolicy']], [0, 'PreemptLowerPriority'], how);
        const usual = { metadata: { name: 'usual' }, value: 7, globalDefault: true, preemptionPolicy: 'Never' };
        await send('POST', priorities, 201, usual);
        const { spec } = await create(`after-${name}`);
        assert.deepEqual(
          [spec['priorityClassName'], spec['priority'], spec['preemptionPolicy']],
          ['usual', 7, 'Never'],
          how,
        );
        await remove(`${priorities}/usual`);
        const later = await create(`later-${name}`);
        assert.deepEqual([later.spec['priorityClassName'], later.spec['priority']], [undefined, 0], how);
      }
    });

    it('pods name a class that exists', async () => {
      const forbidden = 'pods "p" is forbidden: no PriorityClass with name none was found';
      await refusedWith(forbidden, 'POST', pods, 403, podOf('p', { priorityClassName: 'none' }));
      await refusedWith(forbidden, 'POST', pods, 403, podOf('p', { priorityClassName: 'none' }, heavyNote));
      await refusedWith(forbidden, 'POST', `${pods}?dryRun=All`, 403, podOf('p', { priorityClassName: 'none' }));
      const apply = `${pods}/p?fieldManager=me`;
      await refusedWith(forbidden, 'PATCH', apply, 403, podOf('p', { priorityClassName: 'none' }), 'apply-patch+yaml');
      const { spec } = await send('POST', pods, 201, podOf('critical', { priorityClassName: 'system-node-critical' }));
      assert.equal(spec['priority'], 2_000_001_000);
    });

    it('the priority of a pod stays what it was, whoever leaves it out', async () => {
      await send('POST', priorities, 201, { metadata: { name: 'mine' }, value: 5, preemptionPolicy: 'Never' });
      const path = `${pods}/kept`;
      const made = await send('POST', pods, 201, podOf('kept', { priorityClassName: 'mine' }));
      const { priority: _value, preemptionPolicy: _policy, ...spec } = made.spec;
      const put = await send('PUT', path, 200, { ...made, spec });
      const merged = await send('PATCH', path, 200, { spec: { priority: null } }, 'merge-patch+json');
      for (const found of [put, merged]) assert.deepEqual(found.spec, made.spec);
      const changed = await send('PATCH', path, 422, { spec: { priority: 6 } }, 'merge-patch+json');
      assert.match(changed.message ?? '', /^Pod "kept" is invalid: spec: Forbidden: pod updates may not change fields/);
    });

    it('one priority class is the default', async () => {
      const classOf = (name: string, globalDefault: boolean) => ({ metadata: { name }, value: 1, globalDefault });
      await send('POST', priorities, 201, classOf('first', true));
      const other = `priorityclasses.${group('scheduling')} "second" is forbidden: PriorityClass first is already marked as default. Only one default can exist`;
      await refusedWith(other, 'POST', priorities, 403, classOf('second', true));
      const second = await send('POST', priorities, 201, classOf('second', false));
      const path = `${priorities}/second`;
      await refusedWith(other, 'PATCH', path, 403, { globalDefault: true }, 'merge-patch+json');
      await refusedWith(other, 'PUT', path, 403, { ...second, globalDefault: true });
      await send('PATCH', `${priorities}/first`, 200, { description: 'x' }, 'merge-patch+json');
      await send('PATCH', `${priorities}/first`, 200, { globalDefault: false }, 'merge-patch+json');
      await send('PATCH', path, 200, { globalDefault: true }, 'merge-patch+json');
      await remove(path);
    });

    it('pods take what their runtime class says', async () => {
      const overhead = { podFixed: { memory: '120Mi', cpu: '250m' } };
      const scheduling = { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' }] };
      await send('POST', runtimes, 201, { metadata: { name: 'vm' }, handler: 'vm', overhead, scheduling });
      for (const [how, create] of creations(pods, podOf)) {
        const { spec } = await create(`vm-${how.replaceAll(' ', '-').toLowerCase()}`, { runtimeClassName: 'vm' });
        assert.deepEqual([spec['overhead'], spec['nodeSelector']], [overhead.podFixed, scheduling.nodeSelector], how);
        assert.ok(
          (spec['tolerations'] as readonly { key: string }[]).some(({ key }) => key === 'vm'),
          how,
        );
      }
      for (const annotations of [{}, heavyNote]) {
        const bad = (spec: object) => podOf('bad', spec, annotations);
        await refusedWith(
          'pods "bad" is forbidden: pod rejected: RuntimeClass "none" not found',
          'POST',
          pods,
          403,
          bad({ runtimeClassName: 'none' }),
        );
        await refusedWith(
          'pods "bad" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
          ...(['POST', pods, 403, bad({ overhead: { cpu: '1' } })] as const),
        );
        await refusedWith(
          "pods \"bad\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
          ...(['POST', pods, 403, bad({ runtimeClassName: 'vm', overhead: { cpu: '1' } })] as const),
        );
      }
    });

    it('a small pod gets very many tolerations from its runtime class', async () => {
      const tolerations = Array.from({ length: 1_500 }, (_, at) => ({ key: `k${at}`, operator: 'Exists' }));
      await send('POST', runtimes, 201, { metadata: { name: 'tolerant' }, handler: 'h', scheduling: { tolerations } });
      const { spec } = await send('POST', pods, 201, podOf('tolerant', { runtimeClassName: 'tolerant' }));
      assert.ok((spec['tolerations'] as readonly unknown[]).length >= tolerations.length);
    });

    it('claims and ingresses get the newest default class, from the next request on', async () => {
      const cases = [
        {
          classes: storages,
          kind: 'storage',
          content: { provisioner: 'example.com/p' },
          path: claims,
          make: claimOf,
          field: 'storageClassName',
        },
        {
          classes: ingressClasses,
          kind: 'ingress',
          content: { spec: { controller: 'example.com/c' } },
          path: ingresses,
          make: ingressOf,
          field: 'ingressClassName',
        },
      ] as const;
      for (const { classes, kind, content, path, make, field } of cases) {
        for (const [how, create] of creations(path, make)) {
          const name = how.replaceAll(' ', '-').toLowerCase();
          assert.equal((await create(`before-${name}`)).spec[field], undefined, how);
          await send('POST', classes, 201, { metadata: { name: 'usual', ...isDefault(kind) }, ...content });
          assert.equal((await create(`after-${name}`)).spec[field], 'usual', how);
          assert.equal((await create(`own-${name}`, { [field]: 'own' })).spec[field], 'own', how);
          await send('PATCH', `${classes}/usual`, 200, { metadata: isDefault(kind, 'false') }, 'merge-patch+json');
          assert.equal((await create(`later-${name}`)).spec[field], undefined, how);
          await remove(`${classes}/usual`);
        }
      }
    });

    it('claims grow if their class allows it and they are bound', async () => {
      await send('POST', storages, 201, {
        metadata: { name: 'grows' },
        provisioner: 'example.com/p',
        allowVolumeExpansion: true,
      });
      await send('POST', claims, 201, claimOf('growing', { storageClassName: 'grows', volumeName: 'v' }));
      const path = `${claims}/growing`;
      const grow = (storage: string) => ({ spec: { resources: { requests: { storage } } } });
      const prefix = 'persistentvolumeclaims "growing" is forbidden: ';
      const fixed = `${prefix}only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`;
      // Validation comes before the plugin.
      assert.match(
        (await send('PATCH', path, 422, grow('2Gi'), 'merge-patch+json')).message ?? '',
        /spec is immutable after creation/,
      );
      const status = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
      await send('PATCH', `${path}/status`, 200, status, 'merge-patch+json');
      await send('PATCH', path, 200, grow('2Gi'), 'merge-patch+json');
      await send('PATCH', `${storages}/grows`, 200, { allowVolumeExpansion: false }, 'merge-patch+json');
      for (const note of [{}, { metadata: { annotations: heavyNote } }]) {
        await refusedWith(fixed, 'PATCH', path, 403, { ...grow('3Gi'), ...note }, 'merge-patch+json');
      }
      await refusedWith(fixed, 'PATCH', `${path}?dryRun=All`, 403, grow('3Gi'), 'merge-patch+json');
      const found = await send('GET', path, 200);
      const larger = { ...found, spec: { ...found.spec, ...grow('3Gi').spec } };
      await refusedWith(fixed, 'PUT', path, 403, larger);
      const applied = claimOf('growing', { ...grow('3Gi').spec, storageClassName: 'grows', volumeName: 'v' });
      await refusedWith(fixed, 'PATCH', `${path}?fieldManager=me&force=true`, 403, applied, 'apply-patch+yaml');
      await send('PATCH', `${storages}/grows`, 200, { allowVolumeExpansion: true }, 'merge-patch+json');
      await send('PUT', path, 200, larger);
    });

    it('claims and volumes are protected, and go when nobody uses them', async () => {
      for (const [how, create] of creations(claims, claimOf)) {
        const name = `protected-${how.replaceAll(' ', '-').toLowerCase()}`;
        assert.deepEqual((await create(name)).metadata.finalizers, [`${domain}/pvc-protection`], how);
      }
      const volumeOf = (name: string) => ({
        ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
        spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' } },
      });
      for (const [how, create] of creations(volumes, volumeOf)) {
        const name = `protected-${how.replaceAll(' ', '-').toLowerCase()}`;
        assert.deepEqual((await create(name)).metadata.finalizers, [`${domain}/pv-protection`], how);
      }
      const using = {
        nodeName: 'n1',
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'protected-post' } }],
      };
      await send('POST', pods, 201, podOf('using', using));
      await remove(`${claims}/protected-post`);
      await remove(`${claims}/protected-apply`);
      const isGone = async (path: string) => (await server.get(path)).status === 404;
      await until(() => isGone(`${claims}/protected-apply`), 'the unused claim stays');
      assert.ok(!(await isGone(`${claims}/protected-post`)));
      await remove(`${pods}/using?gracePeriodSeconds=0`);
      await until(() => isGone(`${claims}/protected-post`), 'the claim stays');
      await send('PATCH', `${volumes}/protected-post/status`, 200, { status: { phase: 'Bound' } }, 'merge-patch+json');
      await remove(`${volumes}/protected-post`);
      await remove(`${volumes}/protected-apply`);
      await until(() => isGone(`${volumes}/protected-apply`), 'the unbound volume stays');
      assert.ok(!(await isGone(`${volumes}/protected-post`)));
      await send(
        'PATCH',
        `${volumes}/protected-post/status`,
        200,
        { status: { phase: 'Released' } },
        'merge-patch+json',
      );
      await until(() => isGone(`${volumes}/protected-post`), 'the released volume stays');
    });

    it('what is applied again, or replaced by what was sent first, stays as it was', async () => {
      await send('POST', storages, 201, { metadata: { name: 'usual', ...isDefault('storage') }, provisioner: 'a.b/c' });
      for (const [path, object] of [
        [pods, podOf('repeated')],
        [claims, claimOf('repeated')],
      ] as const) {
        const target = `${path}/repeated?fieldManager=me`;
        const first = await send('PATCH', target, 201, object, 'apply-patch+yaml');
        assert.deepEqual(await send('PATCH', target, 200, object, 'apply-patch+yaml'), first);
        const patched = await send('PATCH', `${path}/repeated`, 200, object, 'strategic-merge-patch+json');
        assert.deepEqual([patched.spec, patched.metadata.finalizers], [first.spec, first.metadata.finalizers]);
      }
      await remove(`${storages}/usual`);
    });

    it('a namespace with claims can be deleted', async () => {
      const namespace = '/api/v1/namespaces/leaving';
      await send('POST', '/api/v1/namespaces', 201, { metadata: { name: 'leaving' } });
      await send('POST', `${namespace}/persistentvolumeclaims`, 201, claimOf('a'));
      await remove(namespace);
      await until(async () => (await server.get(namespace)).status === 404, 'the namespace stays');
    });
  });
}

const names = ['Priority', 'RuntimeClass', 'DefaultStorageClass', 'StorageObjectInUseProtection'];
it('plugins that are switched off do nothing', async () => {
  const flags = [`--disable-admission-plugins=${names.join(',')}`, '--controllers=serviceaccount'];
  await using server = await OrchProcess.start({ flags });
  const spec = { containers: [{ name: 'c', image: 'i' }], priorityClassName: 'none', overhead: { cpu: '1' } };
  await until(async () => (await server.get(`${core}/serviceaccounts/default`)).status === 200, 'there is no account');
  const pod = await server.post<Found>(pods, { metadata: { name: 'p' }, spec });
  assert.deepEqual([pod.status, pod.json.spec['priority']], [201, undefined], pod.text);
  const annotations = { 'storageclass.orch.io/is-default-class': 'true' };
  const storage = { metadata: { name: 'usual', annotations }, provisioner: 'example.com/p' };
  assert.equal((await server.post('/apis/storage.orch.io/v1/storageclasses', storage)).status, 201);
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const { json } = await server.post<Found>(claims, { metadata: { name: 'c' }, spec: claim });
  assert.deepEqual([json.spec['storageClassName'], json.metadata.finalizers], [undefined, undefined]);
});

describe('two servers of one store', () => {
  const scheduling = '/apis/scheduling.orch.io/v1/priorityclasses';
  const storage = '/apis/storage.orch.io/v1/storageclasses';
  it('a class that was written at one counts for the next request at the other, however far that is behind', async () => {
    await using store = new SharedStore();
    const lag = new Lag();
    const [one, other] = [new Side(await store.start()), new Side(await store.start(lag))];
    await one.create(`${core}/serviceaccounts`, { metadata: { name: 'default' } });
    const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const annotations = { 'storageclass.orch.io/is-default-class': 'true' };
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    const made = async (path: string, object: { metadata: { name: string } } & Record<string, unknown>) => {
      const sent = other.send('POST', path, object, serverUser);
      lag.release();
      const { status, json } = await sent;
      assert.equal(status, 201, json.message);
      return (json as unknown as Found).spec;
    };
    lag.hold();
    await one.create(scheduling, { metadata: { name: 'usual' }, value: 7, globalDefault: true });
    assert.equal((await made(pods, { metadata: { name: 'a' }, spec }))['priority'], 7);
    lag.hold();
    await one.send('DELETE', `${scheduling}/usual`);
    assert.equal((await made(pods, { metadata: { name: 'b' }, spec }))['priority'], 0);
    lag.hold();
    const usual = { name: 'usual', annotations };
    await one.create(storage, { metadata: usual, provisioner: 'example.com/p' });
    assert.equal((await made(claims, { metadata: { name: 'a' }, spec: claimSpec }))['storageClassName'], 'usual');
  });
});
