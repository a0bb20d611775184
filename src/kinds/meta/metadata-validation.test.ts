import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { describeFieldError, type FieldError } from '../../meta/field-error.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './metadata-validation.ts';

const object = (metadata: ObjectMeta) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
const texts = (errors: readonly FieldError[]) => errors.map((error) => `${error.field}: ${describeFieldError(error)}`);

const subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`;
const label = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`;
const namePart = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`;
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u' };

const createRows: { why: string; metadata: ObjectMeta; format?: 'dnsLabel' | 'pathSegment'; errors: string[] }[] = [
  { why: 'a name', metadata: { name: 'a.b-c' }, errors: [] },
  { why: 'no name', metadata: {}, errors: ['metadata.name: Required value: name or generateName is required'] },
  {
    why: 'upper case',
    metadata: { name: 'Bad_Name' },
    errors: [`metadata.name: Invalid value: "Bad_Name": ${subdomain}`],
  },
  {
    why: 'dots in a label',
    metadata: { name: 'a.b' },
    format: 'dnsLabel',
    errors: ['metadata.name: Invalid value: "a.b": must not contain dots'],
  },
  { why: 'any path segment', metadata: { name: 'System:x' }, format: 'pathSegment', errors: [] },
  {
    why: 'more than a segment',
    metadata: { name: 'a/b' },
    format: 'pathSegment',
    errors: [`metadata.name: Invalid value: "a/b": may not contain '/'`],
  },
  {
    why: 'a long segment',
    metadata: { name: 'a'.repeat(1_025) },
    format: 'pathSegment',
    errors: ['metadata.name: Too long: may not be more than 1024 bytes'],
  },
  { why: 'a prefix with a dash at its end', metadata: { name: 'a-1', generateName: 'a-' }, errors: [] },
  {
    why: 'a bad prefix',
    metadata: { name: 'a', generateName: 'Ab-' },
    errors: [`metadata.generateName: Invalid value: "Ab-": ${subdomain}`],
  },
  {
    why: 'what a dash at the end hides, as in kube-apiserver',
    metadata: { name: 'a', generateName: 'A-' },
    errors: [],
  },
  {
    why: 'a prefix that is no segment alone',
    metadata: { name: '.a', generateName: '.' },
    format: 'pathSegment',
    errors: [],
  },
  {
    why: 'a namespace that is no label',
    metadata: { name: 'a', namespace: 'x.y' },
    errors: ['metadata.namespace: Invalid value: "x.y": must not contain dots'],
  },
  {
    why: 'a negative generation',
    metadata: { name: 'a', generation: -1 },
    errors: ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
  },
  { why: 'labels', metadata: { name: 'a', labels: { 'a.b/C_d': '', e: 'F' } }, errors: [] },
  {
    why: 'a bad label value',
    metadata: { name: 'a', labels: { a: 'b c' } },
    errors: [`metadata.labels: Invalid value: "b c": ${label}`],
  },
  {
    why: 'a bad label key',
    metadata: { name: 'a', labels: { 'a/': 'b' } },
    errors: [
      `metadata.labels: Invalid value: "a/": name part must be non-empty`,
      `metadata.labels: Invalid value: "a/": ${namePart}`,
    ],
  },
  {
    why: 'an annotation with upper case in its domain',
    metadata: { name: 'a', annotations: { 'Example.COM/a': '\n' } },
    errors: [],
  },
  {
    why: 'a bad annotation key',
    metadata: { name: 'a', annotations: { 'a b': '' } },
    errors: [`metadata.annotations: Invalid value: "a b": ${namePart}`],
  },
  {
    why: 'annotations at the limit',
    metadata: { name: 'a', annotations: { a: 'x'.repeat(256 * 1024 - 1) } },
    errors: [],
  },
  {
    why: 'annotations past the limit',
    metadata: { name: 'a', annotations: { a: 'é'.repeat(128 * 1024) } },
    errors: ['metadata.annotations: Too long: may not be more than 262144 bytes'],
  },
  { why: 'finalizers', metadata: { name: 'a', finalizers: ['a.b/c', 'orphan'] }, errors: [] },
  {
    why: 'a bad finalizer',
    metadata: { name: 'a', finalizers: ['-'] },
    errors: [`metadata.finalizers: Invalid value: "-": ${namePart}`],
  },
  {
    why: 'finalizers that exclude each other',
    metadata: { name: 'a', finalizers: ['orphan', 'foregroundDeletion'] },
    errors: [
      'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
    ],
  },
  {
    why: 'owners',
    metadata: {
      name: 'a',
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, uid: 'v' },
      ],
    },
    errors: [],
  },
  {
    why: 'an incomplete owner',
    metadata: { name: 'a', ownerReferences: [{ apiVersion: 'apps/', kind: '', name: '', uid: '' }] },
    errors: [
      'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": name must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
    ],
  },
  {
    why: 'two controllers',
    metadata: {
      name: 'a',
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: 'b', controller: true },
      ],
    },
    errors: [
      'metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b',
    ],
  },
  {
    why: 'an event as an owner',
    metadata: { name: 'a', ownerReferences: [{ ...owner, kind: 'Event' }] },
    errors: [
      'metadata.ownerReferences: Invalid value: v1.OwnerReference{APIVersion:"v1", Kind:"Event", Name:"a", UID:"u", Controller:(*bool)(nil), BlockOwnerDeletion:(*bool)(nil)}: /v1, Kind=Event is disallowed from being an owner',
    ],
  },
  {
    why: 'field owners',
    metadata: { name: 'a', managedFields: [{ manager: 'ü x', operation: 'Apply', fieldsType: 'FieldsV1' }] },
    errors: [],
  },
  {
    why: 'bad field owners',
    metadata: { name: 'a', managedFields: [{ manager: 'é\n', subresource: 'x'.repeat(257) }] },
    errors: [
      'metadata.managedFields[0].operation: Invalid value: "": must be `Apply` or `Update`',
      'metadata.managedFields[0].manager: Invalid value: "é\\n": invalid character U+000A (at position 2)',
      'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
    ],
  },
];

for (const { why, metadata, format, errors } of createRows) {
  test(`metadata: ${why}`, () => {
    assert.deepEqual(texts(validateObjectMeta({ nameFormat: format ?? 'dnsSubdomain' }, object(metadata))), errors);
  });
}

for (const [field, max, listOf] of [
  [
    'ownerReferences',
    limits.ownerReferencesMax,
    (count: number) =>
      Array.from({ length: count }, (_, n) => ({ apiVersion: 'v1', kind: 'A', name: 'b', uid: `${n}` })),
  ],
  ['finalizers', limits.finalizersMax, (count: number) => Array.from({ length: count }, (_, n) => `example.com/f${n}`)],
  [
    'labels',
    limits.labelsMax,
    (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, ''])),
  ],
] as const) {
  test(`metadata: ${field} are bounded, but for those that were more already and do not grow`, () => {
    const having = (count: number): ApiObject => object({ name: 'a', [field]: listOf(count) });
    const tooMany = (count: number) => [`metadata.${field}: Too many: ${count}: must have at most ${max} items`];
    for (const [count, old, errors] of [
      [max, undefined, []],
      [max + 1, undefined, tooMany(max + 1)],
      [30_000, undefined, tooMany(30_000)],
      [max + 1, 0, tooMany(max + 1)],
      [max + 2, max + 1, tooMany(max + 2)],
      [max + 2, max + 2, []],
      [max + 1, max + 2, []],
    ] as const) {
      const before = old === undefined ? undefined : having(old);
      assert.deepEqual(
        texts(validateObjectMeta({ nameFormat: 'dnsLabel' }, having(count), before)),
        errors,
        `${count}`,
      );
    }
  });
}

test('metadata: an integer beyond 2^53 is an error, not a crash', () => {
  const metadata = { name: 'a', generation: -(2n ** 60n) as unknown as number };
  assert.deepEqual(texts(validateObjectMeta({ nameFormat: 'dnsLabel' }, object(metadata))), [
    'metadata.generation: Invalid value: -1152921504606846976: must be greater than or equal to 0',
  ]);
});

const stored = {
  name: 'a',
  namespace: 'b',
  uid: 'u',
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 2,
  finalizers: ['x.io/a', 'x.io/b'],
};
const deleting = { ...stored, deletionTimestamp: '2026-01-02T00:00:00Z', deletionGracePeriodSeconds: 0 };

const updateRows: { why: string; old: ObjectMeta; metadata: ObjectMeta; errors: string[] }[] = [
  { why: 'nothing', old: stored, metadata: stored, errors: [] },
  { why: 'a finalizer added', old: stored, metadata: { ...stored, finalizers: ['x.io/c'] }, errors: [] },
  {
    why: 'a finalizer removed while deleting',
    old: deleting,
    metadata: { ...deleting, finalizers: ['x.io/b'] },
    errors: [],
  },
  {
    why: 'finalizers added while deleting',
    old: deleting,
    metadata: { ...deleting, finalizers: ['x.io/d', 'x.io/a', 'x.io/c'] },
    errors: [
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/c", "x.io/d"}',
    ],
  },
  {
    why: 'generation down',
    old: stored,
    metadata: { ...stored, generation: 1 },
    errors: ['metadata.generation: Invalid value: 1: must not be decremented'],
  },
  {
    why: 'name',
    old: stored,
    metadata: { ...stored, name: 'c' },
    errors: ['metadata.name: Invalid value: "c": field is immutable'],
  },
  {
    why: 'namespace',
    old: stored,
    metadata: { ...stored, namespace: 'c' },
    errors: ['metadata.namespace: Invalid value: "c": field is immutable'],
  },
  {
    why: 'uid',
    old: stored,
    metadata: { ...stored, uid: 'v' },
    errors: ['metadata.uid: Invalid value: "v": field is immutable'],
  },
  {
    why: 'all times',
    old: deleting,
    metadata: { name: 'a', namespace: 'b', uid: 'u', generation: 2 },
    errors: [
      'metadata.creationTimestamp: Invalid value: "null": field is immutable',
      'metadata.deletionTimestamp: Invalid value: "null": field is immutable',
      'metadata.deletionGracePeriodSeconds: Invalid value: "null": field is immutable',
    ],
  },
  {
    why: 'a deletion begun by an update',
    old: stored,
    metadata: deleting,
    errors: [
      'metadata.deletionTimestamp: Invalid value: 2026-01-02 00:00:00 +0000 UTC: field is immutable',
      'metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable',
    ],
  },
];

for (const { why, old, metadata, errors } of updateRows) {
  test(`metadata update: ${why}`, () => {
    assert.deepEqual(texts(validateObjectMetaUpdate(object(metadata), object(old))), errors);
  });
}
