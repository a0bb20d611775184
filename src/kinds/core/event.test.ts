import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectedFields } from '../../cache/selected-fields-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, type Sent } from '../strategy-fixture.ts';
import { event } from './event.ts';

const kind = event(orch);
const mismatch = (namespace: string) =>
  `involvedObject.namespace: Invalid value: ${JSON.stringify(namespace)}: does not match event.namespace`;
const fresh = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingComponent: 'x.io/a',
  reportingInstance: 'a-1',
  action: 'Do',
  reason: 'Why',
};

const rows: { why: string; sent: Sent; errors: string[] }[] = [
  {
    why: 'about an object of its namespace',
    sent: { involvedObject: { namespace: 'default', name: 'a' } },
    errors: [],
  },
  { why: 'about a cluster-scoped object', sent: { involvedObject: { kind: 'Node' } }, errors: [] },
  {
    why: 'about a cluster-scoped object, elsewhere',
    sent: { metadata: { namespace: 'other' }, involvedObject: { kind: 'Node' } },
    errors: [mismatch('')],
  },
  { why: 'about an object elsewhere', sent: { involvedObject: { namespace: 'other' } }, errors: [mismatch('other')] },
  { why: 'newer form', sent: { ...fresh, involvedObject: { namespace: 'other' } }, errors: [] },
  { why: 'newer form in the system namespace', sent: { ...fresh, metadata: { namespace: 'orch-system' } }, errors: [] },
  { why: 'newer form about nothing', sent: { ...fresh, metadata: { namespace: 'other' } }, errors: [mismatch('')] },
  {
    why: 'newer form from a name with a space',
    sent: { ...fresh, reportingComponent: 'a/' },
    errors: ['reportingComponent: Invalid value: "a/": name part must be non-empty'],
  },
  {
    why: 'newer form too long',
    sent: { ...fresh, action: 'a'.repeat(129), reportingInstance: 'é'.repeat(65), message: 'm'.repeat(1025) },
    errors: [
      'reportingInstance: Invalid value: "": can have at most 128 characters',
      'action: Invalid value: "": can have at most 128 characters',
      'message: Invalid value: "": can have at most 1024 characters',
    ],
  },
];

for (const { why, sent, errors } of rows) {
  test(`Event: ${why}`, () => {
    // A missing name part gives two errors: it is empty, and it is not a valid name.
    assert.deepEqual(
      create(kind, sent).errors.filter((error) => !error.includes('regex')),
      errors,
    );
  });
}

test('Event: the newer form requires the reporter, action and reason', () => {
  const { errors } = create(kind, { eventTime: fresh.eventTime, involvedObject: { namespace: 'a' } });
  const missing = errors.filter((error) => error.endsWith(': Required value'));
  assert.deepEqual(
    missing.map((error) => error.split(':')[0]),
    ['reportingComponent', 'reportingInstance', 'action', 'reason'],
  );
});

test('Event: columns of the older form', () => {
  const sent = {
    involvedObject: { kind: 'Pod', name: 'web', fieldPath: 'spec.containers{a}' },
    type: 'Warning',
    reason: 'Failed',
    message: ' it failed\n',
    source: { component: 'agent', host: 'node-1' },
    firstTimestamp: '2026-01-09T22:00:00Z',
    lastTimestamp: '2026-01-09T23:59:30Z',
    count: 3,
  };
  assert.deepEqual(row(kind, sent), {
    'Last Seen': '30s',
    Type: 'Warning',
    Reason: 'Failed',
    Object: 'pod/web',
    '*Subobject': 'spec.containers{a}',
    '*Source': 'agent, node-1',
    Message: 'it failed',
    '*First Seen': '120m',
    '*Count': 3,
    '*Name': 'one',
  });
  assert.deepEqual(Object.keys(row(kind, {})), Object.keys(row(kind, sent)));
});

test('Event: columns of the newer form', () => {
  const single = row(kind, { ...fresh, involvedObject: { kind: 'Node' } });
  assert.deepEqual([single['Last Seen'], single['*First Seen'], single['*Count']], ['9d', '9d', 1]);
  assert.deepEqual([single['Object'], single['*Source']], ['node', 'x.io/a, a-1']);
  const series = { count: 5, lastObservedTime: '2026-01-09T00:00:00.500000Z' };
  const many = row(kind, { ...fresh, series });
  assert.deepEqual([many['Last Seen'], many['*First Seen'], many['*Count']], ['23h', '9d', 5]);
});

test('Event: selectable fields', () => {
  const involvedObject = {
    kind: 'a',
    namespace: 'b',
    name: 'c',
    uid: 'd',
    apiVersion: 'e',
    resourceVersion: 'f',
    fieldPath: 'g',
  };
  const object = read(kind, { ...fresh, involvedObject, type: 'Normal' });
  assert.deepEqual(selectedFields(kind, object), {
    ...Object.fromEntries(Object.entries(involvedObject).map(([field, value]) => [`involvedObject.${field}`, value])),
    reason: 'Why',
    reportingComponent: 'x.io/a',
    source: 'x.io/a',
    type: 'Normal',
  });
});

test('Event: unset times are null', () => {
  const { eventTime, firstTimestamp, lastTimestamp } = read(kind, {});
  assert.deepEqual([eventTime, firstTimestamp, lastTimestamp], [null, null, null]);
});
