import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { type NamespacePhase, namespaceLifecycle } from './namespace-lifecycle.ts';

const phases: Readonly<Record<string, NamespacePhase>> = { active: 'Active', going: 'Terminating' };

async function refusal(attributes: AdmissionAttributes, late = false): Promise<StatusError | undefined> {
  const phaseOf = (name: string): NamespacePhase => phases[name] ?? 'absent';
  const chain = admissionChain([
    namespaceLifecycle({
      phase: (name) => (late ? Promise.resolve(phaseOf(name)) : phaseOf(name)),
      immortal: new Set(['default']),
      exempt: new Set(['localsubjectaccessreviews.authorization.orch.io']),
    }),
  ]);
  try {
    await chain.mutate(attributes);
    await chain.validate(attributes);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return error;
  }
}

describe('writes by namespace phase', () => {
  for (const [write, code] of [
    [{ namespace: 'active' }, undefined],
    [{ namespace: 'going' }, 403],
    [{ namespace: 'none' }, 404],
    [{ namespace: 'going', operation: 'update' }, undefined],
    [{ namespace: 'going', operation: 'update', resource: 'pods/status' }, undefined],
    [{ namespace: 'going', operation: 'delete' }, undefined],
    [{ namespace: 'none', operation: 'delete' }, undefined],
    [{ namespace: '', resource: 'nodes' }, undefined],
    [{ namespace: '', resource: 'namespaces' }, undefined],
    [{ namespace: 'going', resource: 'localsubjectaccessreviews', group: 'authorization.orch.io' }, undefined],
    [{ namespace: 'none', resource: 'localsubjectaccessreviews', group: 'authorization.orch.io' }, undefined],
    [{ namespace: 'going', resource: 'localsubjectaccessreviews', group: 'example.com' }, 403],
    [{ namespace: '', resource: 'namespaces', operation: 'delete', name: 'default' }, 403],
    [{ namespace: '', resource: 'namespaces', operation: 'delete', name: 'active' }, undefined],
    [{ namespace: '', resource: 'namespaces', operation: 'update', name: 'default' }, undefined],
    [{ namespace: '', resource: 'namespaces', group: 'example.com', operation: 'delete', name: 'default' }, undefined],
    [{ namespace: 'active', resource: 'configmaps', operation: 'delete', name: 'default' }, undefined],
  ] as const) {
    it(`${JSON.stringify(write)}: ${code ?? 'admitted'}`, async () => {
      for (const late of [false, true]) assert.equal((await refusal(attributesOf(write), late))?.code, code);
    });
  }
});

it('the error messages of kube-apiserver', async () => {
  const going = await refusal(attributesOf({ namespace: 'going', resource: 'leases', group: 'coordination.orch.io' }));
  assert.deepEqual(going?.toStatus(), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'leases.coordination.orch.io "x" is forbidden: unable to create new content in namespace going because it is being terminated',
    reason: 'Forbidden',
    details: {
      name: 'x',
      group: 'coordination.orch.io',
      kind: 'leases',
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: 'namespace going is being terminated',
          field: 'metadata.namespace',
        },
      ],
    },
    code: 403,
  });
  assert.equal((await refusal(attributesOf({ namespace: 'none' })))?.message, 'namespaces "none" not found');
  const immortal = attributesOf({ resource: 'namespaces', operation: 'delete', name: 'default' });
  assert.equal(
    (await refusal(immortal))?.message,
    'namespaces "default" is forbidden: this namespace may not be deleted',
  );
});

it('a namespace that starts terminating while other plugins run is noticed', async () => {
  let phase: NamespacePhase = 'Active';
  const chain = admissionChain([
    namespaceLifecycle({ phase: () => phase, immortal: new Set(), exempt: new Set() }),
    {
      name: 'slow',
      sideEffects: 'none',
      concerns: () => true,
      mutate: () => {
        phase = 'Terminating';
      },
    },
  ]);
  const attributes = attributesOf({ namespace: 'n' });
  await chain.mutate(attributes);
  await assert.rejects(async () => chain.validate(attributes), /is being terminated/);
});
