import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { Kind } from '../../kinds/kind.ts';
import { kinds } from '../../kinds/kinds.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { countGeneration } from './server-metadata.ts';

/** Which changes the generation counts, by kind. */

const all = kinds(orch);
const kindOf = (name: string): Kind => {
  const found = all.find(({ kind }) => kind === name);
  assert.ok(found, name);
  return found;
};

const changes = {
  labels: { metadata: { labels: { a: 'c' } } },
  annotations: { metadata: { annotations: { a: 'c' } } },
  content: { content: 'c' },
  status: { status: 'c' },
} as const;

type Change = keyof typeof changes;

const rows: readonly [kind: string, counted: readonly Change[]][] = [
  ['ConfigMap', []],
  ['Deployment', ['annotations', 'content']],
  ['Endpoints', []],
  ['EndpointSlice', ['labels', 'content', 'status']],
  ['Ingress', ['content']],
  ['IngressClass', ['content', 'status']],
  ['NetworkPolicy', ['content', 'status']],
  ['PodDisruptionBudget', ['content']],
];

for (const [name, counted] of rows) {
  for (const change of Object.keys(changes) as Change[]) {
    test(`generation of ${name}: ${change}`, () => {
      const metadata = { name: 'a', generation: 3, labels: { a: 'b' }, annotations: { a: 'b' } };
      const old: ApiObject = { apiVersion: 'v1', kind: name, metadata, content: 'b', status: 'b' };
      const sent: Partial<ApiObject> = changes[change];
      const object = { ...old, ...sent, metadata: { ...metadata, ...sent.metadata } };
      countGeneration(kindOf(name), object, old, true);
      assert.equal(object.metadata.generation, counted.includes(change) ? 4 : 3);
      // Written with the status, metadata does not count.
      const isMetadata = ['labels', 'annotations'].includes(change);
      const subresource = { ...object, metadata: { ...object.metadata, generation: 3 } };
      countGeneration(kindOf(name), subresource, old, false);
      assert.equal(subresource.metadata.generation, counted.includes(change) && !isMetadata ? 4 : 3);
    });
  }
}
