import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseStored } from '../codec/json.ts';
import { readMetadata, readMetadataEvent } from './read-metadata.ts';

const padding = 'x'.repeat(20_000);
const event = (type: string, metadata: object, rest: object = { data: { padding } }) =>
  Buffer.from(JSON.stringify({ type, object: { kind: 'ConfigMap', apiVersion: 'v1', metadata, ...rest } }));

describe('an event of which only metadata is parsed', () => {
  for (const [what, metadata, read] of [
    ['plain', { name: 'a', uid: 'u', ownerReferences: [{ uid: 'o' }] }, undefined],
    [
      'with managedFields at the end',
      { name: 'a', managedFields: [{ fieldsV1: { 'f:a]': {} } }] },
      { name: 'a', managedFields: [] },
    ],
    ['with managedFields first', { managedFields: [[]], finalizers: ['x'] }, { managedFields: [], finalizers: ['x'] }],
    ['with a label of that name', { labels: { managedFields: 'x' }, name: 'a' }, undefined],
    ['with quotes and braces in texts', { annotations: { 'a"}': '\\"]{', b: '\\\\' }, name: 'é😀' }, undefined],
    ['empty', {}, undefined],
  ] as const) {
    it(what, () => {
      for (const type of ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']) {
        const found = readMetadataEvent(event(type, metadata));
        assert.deepEqual([found.type, found.object.metadata], [type, read ?? metadata]);
        assert.ok(!('data' in found.object), 'the rest is not read');
      }
    });
  }

  it('is parsed whole if it is short, an error, or in another format', () => {
    const metadata = { name: 'a' };
    const short = readMetadataEvent(event('ADDED', metadata, { data: { a: 'b' } }));
    assert.deepEqual(short, JSON.parse(event('ADDED', metadata, { data: { a: 'b' } }).toString()));
    const error = Buffer.from(
      JSON.stringify({ type: 'ERROR', object: { kind: 'Status', metadata: {}, message: padding } }),
    );
    assert.deepEqual(readMetadataEvent(error), JSON.parse(error.toString()));
    const other = Buffer.from(JSON.stringify({ type: 'ADDED', object: { spec: { padding }, metadata } }));
    assert.deepEqual(readMetadataEvent(other), JSON.parse(other.toString()));
  });

  it('an object is parsed the same way', () => {
    const metadata = { name: 'a', finalizers: ['x'], managedFields: [{ manager: 'm' }] };
    const bytes = (data: object) => Buffer.from(JSON.stringify({ kind: 'A', apiVersion: 'v1', metadata, data }));
    assert.deepEqual(readMetadata(bytes({ padding })).metadata, { ...metadata, managedFields: [] });
    assert.deepEqual(readMetadata(bytes({ a: 'b' })), JSON.parse(bytes({ a: 'b' }).toString()));
  });

  it('has the metadata that parsing it whole gives', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (metadata) => {
        if ('managedFields' in metadata) return;
        const bytes = event('MODIFIED', metadata);
        const whole = parseStored(bytes) as { readonly object: { readonly metadata: object } };
        assert.deepEqual(readMetadataEvent(bytes).object.metadata, whole.object.metadata);
      }),
    );
  });
});
