import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineKind } from '../../kinds/define-kind.ts';
import { kindSchema } from '../../kinds/meta/kind-schema.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { Admission } from '../../request/admission.ts';
import { int32, opt, ptr, string, struct } from '../../schema/schema.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from '../write/patch-formats.ts';

/** A built-in kind can have a Scale as well: nothing here is special to custom ones. */

const spec = struct('test.CrowdSpec', '', { replicas: ptr(1, int32(), ''), text: opt(2, string(), '') });
const crowds = defineKind({
  group: 'test.orch.io',
  kind: 'Crowd',
  schema: kindSchema('test.Crowd', '', { spec: opt(2, spec, '') }),
  generation: true,
  subresources: [
    {
      ...{ type: 'scale', name: 'scale', verbs: ['get', 'update', 'patch'] },
      ...{ specReplicas: ['spec', 'replicas'], statusReplicas: ['status', 'replicas'] },
    },
  ],
});

const path = '/apis/test.orch.io/v1/namespaces/default/crowds';
const one = `${path}/one/scale`;

const open = async (admission: Partial<Admission> = {}): Promise<RegistryFixture> => {
  let asked = false;
  const whenScaled =
    (call: 'mutate' | 'validate'): Admission['mutate'] =>
    (attributes) =>
      asked ? admission[call]?.(attributes) : undefined;
  const fixture = await RegistryFixture.open({
    kinds: [crowds],
    admission: { mutate: whenScaled('mutate'), validate: whenScaled('validate') },
  });
  await fixture.object('POST', path, { metadata: { name: 'one' }, spec: { replicas: 1, text: 'x' } });
  asked = true;
  return fixture;
};

/** Writes of two replicas. */
const writes: Readonly<Record<string, readonly [method: string, patch: PatchFormat, body: unknown]>> = {
  PUT: ['PUT', 'merge', { metadata: { name: 'one' }, spec: { replicas: 2 } }],
  'merge patch': ['PATCH', 'merge', { spec: { replicas: 2 } }],
  'strategic merge patch': ['PATCH', 'strategic', { spec: { replicas: 2 } }],
  'JSON patch': ['PATCH', 'json', [{ op: 'add', path: '/spec/replicas', value: 2 }]],
  apply: ['PATCH', 'apply', { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replicas: 2 } }],
};

for (const [name, [method, patchType, body]] of Object.entries(writes)) {
  const target = `${one}${patchType === 'apply' ? '?force=true&fieldManager=m' : ''}`;

  test(`${name}: admission sees the Scale before and after`, async () => {
    const seen: unknown[] = [];
    const see =
      (call: string): Admission['mutate'] =>
      ({ operation, kind, info, name: object, object: now, old }) => {
        const replicas = [old, now].map((each) => (each?.['spec'] as { replicas?: number })?.replicas);
        seen.push([call, operation, `${kind.group}/${kind.version} ${kind.kind}`, info.subresource, object, replicas]);
      };
    await using fixture = await open({ mutate: see('mutate'), validate: see('validate') });
    fixture.patchType = patchType;
    const { spec: wanted } = await fixture.object(method, target, body);
    assert.deepEqual(wanted, { replicas: 2 });
    const expected = ['update', 'autoscaling/v1 Scale', 'scale', 'one', [1, 2]];
    assert.deepEqual(seen, [
      ['mutate', ...expected],
      ['validate', ...expected],
    ]);
  });

  test(`${name}: admission may change the replicas, and is validated`, async () => {
    let replicas = 3;
    await using fixture = await open({
      mutate: ({ object }) => void Object.assign(object ?? {}, { spec: { replicas } }),
    });
    fixture.patchType = patchType;
    assert.deepEqual((await fixture.object(method, target, body))['spec'], { replicas: 3 });
    assert.deepEqual((await fixture.object('GET', `${path}/one`))['spec'], { replicas: 3, text: 'x' });
    replicas = -3;
    const { code, details } = await fixture.refusal(method, target, body);
    assert.deepEqual([code, details?.causes?.map(({ field }) => field)], [422, ['spec.replicas']]);
  });

  test(`${name}: admission may refuse`, async () => {
    const refuse = (): never => {
      throw new StatusError('Forbidden', 'no');
    };
    await using fixture = await open({ validate: refuse });
    fixture.patchType = patchType;
    assert.equal((await fixture.refusal(method, target, body)).code, 403);
    assert.deepEqual((await fixture.object('GET', `${path}/one`))['spec'], { replicas: 1, text: 'x' });
  });
}

/** As in kube-apiserver. */
for (const [collection, read, patched] of [
  ['/apis/apps/v1/namespaces/n/deployments', 'deployments/scale.apps', 'deployments/scale.apps'],
  ['/apis/apps/v1/namespaces/n/replicasets', 'replicasets/scale.apps', 'replicasets/scale.apps'],
  ['/apis/apps/v1/namespaces/n/statefulsets', 'statefulsets.apps', 'statefulsets/scale.apps'],
  [
    '/api/v1/namespaces/n/replicationcontrollers',
    'replicationcontrollers/scale.autoscaling',
    'replicationcontrollers/scale',
  ],
] as const) {
  test(`how errors name a Scale: ${read}`, async () => {
    await using fixture = await RegistryFixture.open();
    const scale = `${collection}/one/scale`;
    const message = async (...[method, target, body]: Parameters<RegistryFixture['refusal']>) =>
      (await fixture.refusal(method, target, body)).message;
    assert.equal(await message('GET', scale), `${read} "one" not found`);
    assert.match(await message('PUT', scale, { metadata: { name: 'one' } }), /^[a-z]+(\.apps)? "one" not found$/);
    const labels = { a: 'b' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const selector = collection.includes('controllers') ? labels : { matchLabels: labels };
    await fixture.object('POST', collection, { metadata: { name: 'one' }, spec: { selector, template } });
    const refused = `Operation cannot be fulfilled on ${patched} "one": Precondition failed: UID in precondition: u, UID in`;
    const patch = { metadata: { uid: 'u' }, spec: { replicas: 2 } };
    assert.ok((await message('PATCH', scale, patch)).startsWith(refused));
    fixture.patchType = 'apply';
    const applied = { ...patch, apiVersion: 'autoscaling/v1', kind: 'Scale' };
    assert.ok((await message('PATCH', `${scale}?fieldManager=m&force=true`, applied)).startsWith(refused));
  });
}
