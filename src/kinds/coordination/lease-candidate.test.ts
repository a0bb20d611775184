import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { leaseCandidate } from './lease-candidate.ts';

const kind = leaseCandidate(orch);
const oldest = 'OldestEmulationVersion';
const valid = { leaseName: 'l', binaryVersion: '1.32.0', emulationVersion: '1.31.0', strategy: oldest };
const noVersion = 'must be a valid semantic version';

const rows: readonly (readonly [why: string, spec: Sent, errors: readonly string[]])[] = [
  ['is valid', {}, []],
  ['has the version of its emulation', { emulationVersion: '1.32.0' }, []],
  ['needs no emulation', { strategy: 'example.com/mine', emulationVersion: '' }, []],
  ['has a lease', { leaseName: '' }, ['spec.leaseName: Required value']],
  [
    'is no older than its emulation',
    { emulationVersion: '1.33.0' },
    ['spec.binaryVersion: Invalid value: "1.32.0": must be greater than or equal to `emulationVersion`'],
  ],
  [
    'is no prerelease of its emulation',
    { binaryVersion: '1.32.0-rc.1', emulationVersion: '1.32.0' },
    ['spec.binaryVersion: Invalid value: "1.32.0-rc.1": must be greater than or equal to `emulationVersion`'],
  ],
  [
    'has versions',
    { binaryVersion: 'v1.32.0', emulationVersion: '1.31' },
    [
      `spec.emulationVersion: Invalid value: "1.31": ${noVersion}`,
      `spec.binaryVersion: Invalid value: "v1.32.0": ${noVersion}`,
      `spec.emulationVersion: Required value: must be specified when \`strategy\` is '${oldest}'`,
    ],
  ],
  [
    'has a version of its own',
    { binaryVersion: '', emulationVersion: '' },
    [
      'spec.binaryVersion: Required value',
      `spec.emulationVersion: Required value: must be specified when \`strategy\` is '${oldest}'`,
    ],
  ],
  ['has a strategy', { strategy: '' }, ['spec.strategy: Required value']],
  [
    'has a known strategy',
    { strategy: 'Mine' },
    [`spec.strategy.strategy: Unsupported value: "Mine": supported values: "${oldest}"`],
  ],
  [
    'has a strategy of somebody',
    { strategy: '/Mine' },
    ['spec.strategy.strategy: Invalid value: "/Mine": prefix part must be non-empty'],
  ],
];

for (const [why, spec, errors] of rows) {
  test(`LeaseCandidate: ${why}`, () => {
    assert.deepEqual(create(kind, { spec: { ...valid, ...spec } }).errors, errors);
    if (!('leaseName' in spec))
      assert.deepEqual(update(kind, { spec: valid }, { spec: { ...valid, ...spec } }).errors, errors);
  });
}

test('LeaseCandidate: its lease stays, its name is a key', () => {
  assert.deepEqual(update(kind, { spec: valid }, { spec: { ...valid, leaseName: 'm' } }).errors, [
    'spec.leaseName: Invalid value: "m": field is immutable',
  ]);
  assert.deepEqual(create(kind, { metadata: { name: 'A_b.c-' }, spec: valid }).errors, []);
  const [error = '', ...others] = create(kind, { metadata: { name: 'a b' }, spec: valid }).errors;
  assert.match(
    error,
    /^metadata.name: Invalid value: "a b": a valid config key must consist of alphanumeric characters/,
  );
  assert.deepEqual(others, []);
});

test('LeaseCandidate: columns', () => {
  const shown = { Name: 'one', LeaseName: 'l', BinaryVersion: '1.32.0', EmulationVersion: '1.31.0', Age: '<unknown>' };
  assert.deepEqual(row(kind, { spec: valid }), shown);
});
