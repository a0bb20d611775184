import assert from 'node:assert/strict';
import { it } from 'node:test';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { namespaceAutoProvision } from './namespace-auto-provision.ts';

type Write = Parameters<typeof attributesOf>[0];

const cases: readonly (readonly [write: Write, provisioned: readonly string[]])[] = [
  [{ namespace: 'none' }, ['none']],
  [{ namespace: 'there' }, []],
  [{ namespace: 'going' }, []],
  [{ namespace: 'none', dryRun: true }, []],
  [{ namespace: 'none', operation: 'update' }, []],
  [{ namespace: 'none', operation: 'delete' }, []],
  [{ namespace: 'none', operation: 'connect' }, []],
  [{ namespace: 'none', resource: 'namespaces' }, []],
  [{ resource: 'nodes' }, []],
];
for (const later of [false, true]) {
  for (const [write, provisioned] of cases) {
    it(`${JSON.stringify(write)}${later ? ', asked' : ''}`, async () => {
      const made: string[] = [];
      const phases = { there: 'Active', going: 'Terminating' } as const;
      const phase = (name: string) => phases[name as keyof typeof phases] ?? 'absent';
      const plugin = namespaceAutoProvision({
        phase: (name) => (later ? Promise.resolve(phase(name)) : phase(name)),
        async provision(name) {
          made.push(name);
          return undefined;
        },
      });
      const attributes = attributesOf(write);
      if (plugin.concerns(attributes)) await plugin.mutate?.(attributes);
      assert.deepEqual(made, provisioned);
    });
  }
}

it('a namespace that cannot be created', async () => {
  const plugin = namespaceAutoProvision({ phase: () => 'absent', provision: async () => 'no room' });
  await assert.rejects(
    async () => plugin.mutate?.(attributesOf({ namespace: 'none' })),
    (error) => error instanceof StatusError && error.message === 'configmaps "x" is forbidden: no room',
  );
});
