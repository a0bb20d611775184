import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causes, containerWith, created } from '../pod-fixture.ts';

type Row = readonly [why: string, source: Readonly<Record<string, unknown>>, ...errors: readonly string[]];

const at = 'spec.volumes[0]';

/** What is wrong with a volume. */
const rows: readonly Row[] = [
  ['a path upwards', { hostPath: { path: '../a' } }, `FieldValueInvalid ${at}.hostPath.path`],
  ['two sources', { emptyDir: {}, hostPath: { path: '/' } }, `FieldValueForbidden ${at}.hostPath`],
  [
    'two sources, of which one has another name in errors',
    { emptyDir: {}, cephfs: { monitors: ['m'] } },
    `FieldValueForbidden ${at}.cephFS`,
  ],
  [
    'a managed disk at another address',
    { azureDisk: { kind: 'Managed', diskName: 'd', diskURI: 'https://x' } },
    `FieldValueNotSupported ${at}.azureDisk.diskURI`,
  ],
  [
    'a blob at another address',
    { azureDisk: { kind: 'Shared', diskName: 'd', diskURI: '/subscriptions/x' } },
    `FieldValueNotSupported ${at}.azureDisk.diskURI`,
  ],
  [
    'a registry without ports',
    { quobyte: { registry: 'a:1,b', volume: 'v' } },
    `FieldValueInvalid ${at}.quobyte.registry`,
  ],
  [
    'a long tenant',
    { quobyte: { registry: 'a:1', volume: 'v', tenant: 'x'.repeat(65) } },
    `FieldValueRequired ${at}.quobyte.tenant`,
  ],
  [
    'no volume',
    { scaleIO: { gateway: 'g', system: 's', secretRef: { name: 's' } } },
    `FieldValueRequired ${at}.scaleIO.volumeName`,
  ],
  [
    'a volume, and a secret without name',
    { storageos: { volumeName: 'A', secretRef: {} } },
    `FieldValueInvalid ${at}.storageos.volumeName`,
    `FieldValueRequired ${at}.storageos.secretRef.name`,
  ],
];

for (const [why, source, ...errors] of rows) {
  test(`volume refused, and not there to be mounted: ${why}`, () => {
    const mounted = containerWith(
      { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      { volumes: [{ name: 'v', ...source }] },
    );
    const notThere = 'FieldValueNotFound spec.containers[0].volumeMounts[0].name';
    assert.deepEqual(causes(created(mounted)), [...errors, notThere].sort());
  });
}
