import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { storageVersion } from './storage-version.ts';

const kind = storageVersion(orch);
const metadata = { name: 'apps.deployments' };
const server = (apiServerID: string, encodingVersion: string, more: Sent = {}): Sent => ({
  ...{ apiServerID, encodingVersion, decodableVersions: [encodingVersion], ...more },
});
const list = 'status.storageVersions';
const common = 'status.commonEncodingVersion: Invalid value';
const subdomain = 'a lowercase RFC 1123 subdomain must consist of';
const label = 'a DNS-1035 label must consist of';

/** Errors are known by their beginning. */
const rows: readonly (readonly [why: string, status: Sent, errors: readonly string[]])[] = [
  ['nothing is known', {}, []],
  ['servers agree', { storageVersions: [server('a', 'v1'), server('b', 'v1')], commonEncodingVersion: 'v1' }, []],
  ['servers differ', { storageVersions: [server('a', 'v1'), server('b', 'g.io/v2')] }, []],
  [
    'two servers are one',
    { storageVersions: [server('a', 'v1'), server('a', 'v2')] },
    [`${list}[1].apiServerID: Duplicate value: "a"`],
  ],
  [
    'a server has no name',
    { storageVersions: [server('A_b', 'v1')], commonEncodingVersion: 'v1' },
    [`${list}[0].apiServerID: Invalid value: "A_b": ${subdomain}`],
  ],
  [
    'a version is none',
    { storageVersions: [server('a', 'G/v1/x')], commonEncodingVersion: 'G/v1/x' },
    [
      `${list}[0].encodingVersion: Invalid value: "G/v1/x": an apiVersion is a DNS-1035 label, which must consist of`,
      `${list}[0].decodableVersions[0]: Invalid value: "G/v1/x": an apiVersion is a DNS-1035 label, which must consist of`,
    ],
  ],
  [
    'parts of a version are none',
    { storageVersions: [server('a', '/1')], commonEncodingVersion: '/1' },
    [
      `${list}[0].encodingVersion: Invalid value: "/1": group part: must be non-empty,version part: ${label}`,
      `${list}[0].decodableVersions[0]: Invalid value: "/1": group part: must be non-empty,version part: ${label}`,
    ],
  ],
  [
    'a server does not decode what it stores',
    {
      storageVersions: [server('a', 'v1', { decodableVersions: ['v2'], servedVersions: ['v3'] })],
      commonEncodingVersion: 'v1',
    },
    [
      `${list}[0].decodableVersions: Invalid value: []string{"v2"}: decodableVersions must include encodingVersion v1`,
      `${list}[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v2]`,
    ],
  ],
  [
    'no server has the common version',
    { commonEncodingVersion: 'v1' },
    [
      `${common}: "v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting`,
    ],
  ],
  [
    'the common version is not told',
    { storageVersions: [server('a', 'v1')] },
    [`${common}: "null": the common encoding version is v1`],
  ],
  [
    'the common version is another',
    { storageVersions: [server('a', 'v1')], commonEncodingVersion: 'v2' },
    [`${common}: "v2": the actual common encoding version is v1`],
  ],
  [
    'conditions are incomplete',
    {
      conditions: [
        { type: 'A', status: 'True', reason: 'R', message: 'm' },
        { type: 'A', status: '' },
      ],
    },
    [
      'status[1].type: Invalid value: "A": the type of the condition is not unique, it also appears in conditions[0]',
      'status[1].status: Invalid value: "": name part must be non-empty',
      'status[1].status: Invalid value: "": name part must consist of',
      'status[1].reason: Required value: reason cannot be empty',
      'status[1].message: Required value: message cannot be empty',
    ],
  ],
];

for (const [why, status, errors] of rows) {
  test(`StorageVersion: ${why}`, () => {
    const found = update(kind, { metadata, spec: {} }, { metadata, spec: {}, status }, 'status').errors;
    assert.deepEqual(
      found.map((error, index) => error.slice(0, errors[index]?.length)),
      errors,
    );
  });
}

const names: readonly (readonly [name: string, problem: string])[] = [
  ['deployments', 'name must be in the form of <group>.<resource>'],
  ['G.deployments', `the group segment ${subdomain}`],
  ['apps.1', `the resource segment ${label}`],
];

for (const [name, problem] of names) {
  test(`StorageVersion: it is not named ${name}`, () => {
    const [error = '', ...others] = create(kind, { metadata: { name }, spec: {} }).errors;
    assert.ok(error.startsWith(`metadata.name: Invalid value: "${name}": ${problem}`), error);
    assert.deepEqual(others, []);
  });
}

test('StorageVersion: a new one has no status; columns', () => {
  const storageVersions = ['a', 'b', 'c', 'd', 'e'].map((id) => server(id, 'v1'));
  const status = { storageVersions, commonEncodingVersion: 'v1' };
  const { object, errors } = create(kind, { metadata, spec: {}, status });
  assert.deepEqual([errors, object['status']], [[], {}]);
  assert.deepEqual(row(kind, { metadata, spec: {}, status }), {
    ...{
      Name: metadata.name,
      CommonEncodingVersion: 'v1',
      StorageVersions: 'a=v1,b=v1,c=v1 + 2 more...',
      Age: '<unknown>',
    },
  });
  assert.equal(row(kind, { metadata, spec: {} })['CommonEncodingVersion'], '<unset>');
});
