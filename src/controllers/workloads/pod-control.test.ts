import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podOf } from './pod-control.ts';

const kind = { apiVersion: 'apps/v1', kind: 'ReplicaSet', resource: 'replicasets' };
const ownerOf = (name: string) => ({
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  metadata: { name, namespace: 'ns', uid: 'u', labels: { of: 'the owner' } },
});

describe('a pod for a template', () => {
  it('has what the template says, what the owner adds, and the owner as its controller', () => {
    const metadata = { labels: { app: 'x' }, annotations: { a: '1' }, finalizers: ['example.com/f'], name: 'ignored' };
    const template = { metadata, spec: { containers: [{ name: 'c' }], nodeName: 'n1' } };
    const added = {
      labels: { b: '2' },
      annotations: { c: '3' },
      finalizers: ['example.com/g'],
      spec: { hostname: 'h' },
    };
    assert.deepEqual(podOf(kind, ownerOf('web'), { template, ...added }), {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: {
        generateName: 'web-',
        namespace: 'ns',
        labels: { app: 'x', b: '2' },
        annotations: { a: '1', c: '3' },
        finalizers: ['example.com/f', 'example.com/g'],
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'ReplicaSet',
            name: 'web',
            uid: 'u',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { containers: [{ name: 'c' }], nodeName: 'n1', hostname: 'h' },
    });
  });

  for (const [owner, name, expected] of [
    ['web', undefined, { generateName: 'web-' }],
    ['web', 'web-0', { name: 'web-0' }],
    ['a'.repeat(253), undefined, { generateName: `${'a'.repeat(253)}-` }],
  ] as const) {
    it(`of ${owner.length} characters: ${name ?? 'a generated name'}`, () => {
      const { metadata } = podOf(kind, ownerOf(owner), { template: {}, ...(name !== undefined && { name }) });
      const { generateName, name: given } = metadata;
      assert.deepEqual(name === undefined ? { generateName } : { name: given }, expected);
    });
  }
});
