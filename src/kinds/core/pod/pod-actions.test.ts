import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../meta/api-object.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { runAction, targetOf } from './pod-action-fixture.ts';
import { podWith, type Sent, stored } from './pod-fixture.ts';

const binding = (metadata: Sent = {}, target: Sent = {}): Sent => ({
  metadata: { name: 'web', ...metadata },
  target: { kind: 'Node', name: 'node-1', ...target },
});

test('binding: assigns a pod to a node', async () => {
  const object = stored(podWith({}, { annotations: { a: '1', b: '1' } }));
  const answer = await runAction('binding', binding({ annotations: { b: '2' } }), targetOf(object));
  assert.deepEqual(answer, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
  const { spec, status } = object as unknown as { spec: Sent; status: Sent };
  assert.equal(spec['nodeName'], 'node-1');
  assert.deepEqual(object.metadata.annotations, { a: '1', b: '2' });
  assert.deepEqual(status['conditions'], [
    { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-10T00:00:00Z' },
  ]);
});

const refusals: readonly (readonly [string, ApiObject, Sent, number, string])[] = [
  [
    'assigned already',
    stored(podWith({ nodeName: 'node-2' })),
    binding(),
    409,
    'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "node-2"',
  ],
  [
    'being deleted',
    stored(podWith({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })),
    binding(),
    409,
    'Operation cannot be fulfilled on pods/binding "web": pod web is being deleted, cannot be assigned to a host',
  ],
  [
    'gated',
    stored(podWith({ schedulingGates: [{ name: 'a' }] })),
    binding(),
    409,
    'Operation cannot be fulfilled on pods/binding "web": pod web has non-empty .spec.schedulingGates',
  ],
  [
    'another pod of that name',
    stored(podWith({}, { uid: 'u1' })),
    binding({ uid: 'u2' }),
    409,
    'Operation cannot be fulfilled on pods/binding "web": Precondition failed: UID in precondition: u2, UID in object meta: u1',
  ],
  ...[{ name: 'other' }, { name: undefined }].map(
    (metadata) =>
      [
        `named ${metadata.name}`,
        stored(podWith({})),
        binding(metadata),
        400,
        'name in URL does not match name in Binding object',
      ] as const,
  ),
  [
    'no node',
    stored(podWith({})),
    binding({}, { name: '' }),
    422,
    'Binding "web" is invalid: target.name: Required value',
  ],
  [
    'not a node',
    stored(podWith({})),
    binding({}, { kind: 'Pod' }),
    422,
    'Binding "web" is invalid: target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  ],
];

for (const [what, object, body, code, message] of refusals) {
  test(`binding: refused: ${what}`, async () => {
    const before = structuredClone(object);
    await assert.rejects(runAction('binding', body, targetOf(object)), (error) => {
      assert.ok(error instanceof StatusError);
      assert.deepEqual([error.code, error.message], [code, message]);
      return true;
    });
    assert.deepEqual(object, before);
  });
}
