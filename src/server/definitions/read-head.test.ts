import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readHead } from './read-head.ts';

const metadata = { resourceVersion: '7', name: 'widgets.example.com', finalizers: ['a'] };
const status = { conditions: [{ type: 'Established', status: 'True' }], acceptedNames: { plural: 'widgets' } };
const names = { plural: 'widgets', kind: 'Widget' };

const objects: readonly Readonly<Record<string, unknown>>[] = [
  {
    kind: 'A',
    apiVersion: 'b/v1',
    metadata,
    spec: { group: 'example.com', names, versions: [{ name: 'v1' }] },
    status,
  },
  {
    ...{ kind: 'A', apiVersion: 'b/v1' },
    metadata: { ...metadata, managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }], annotations: { a: 'b' } },
    ...{ status, spec: { versions: [{ schema: { versions: 1 } }], names } },
  },
  { kind: 'A', apiVersion: 'b/v1', metadata, spec: {} },
  { kind: 'A', apiVersion: 'b/v1', metadata },
];

for (const object of objects) {
  it(`a definition is read without its versions: ${JSON.stringify(object)}`, () => {
    const wanted = structuredClone(object) as Record<string, Record<string, unknown>>;
    if (wanted['spec']?.['versions']) wanted['spec']['versions'] = [];
    if (wanted['metadata']?.['managedFields']) wanted['metadata']['managedFields'] = [];
    assert.deepEqual(readHead(Buffer.from(JSON.stringify(object))), wanted);
  });
}

it('what is no object is refused', () => {
  for (const text of ['', '[]', '{"kind":"A"}', '{"metadata":{"name":']) {
    assert.throws(() => readHead(Buffer.from(text)));
  }
});
