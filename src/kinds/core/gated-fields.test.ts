import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropDisabledFields } from '../../schema/feature-gates.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { persistentVolumeSpec } from './persistent-volume/persistent-volume-spec.ts';
import { persistentVolumeClaimSchema } from './persistent-volume-claim-schema.ts';
import { podTemplateSpec } from './pod/pod-template-spec.ts';

const className = { volumeAttributesClassName: 'c' };
const rows: readonly (readonly [gate: string, schema: StructSchema, value: object, left: object])[] = [
  [
    'InPlacePodVerticalScaling',
    podTemplateSpec,
    { spec: { containers: [{ name: 'c', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }] } },
    { spec: { containers: [{ name: 'c' }] } },
  ],
  ['UserNamespacesSupport', podTemplateSpec, { spec: { hostUsers: false } }, { spec: {} }],
  ['PodLevelResources', podTemplateSpec, { spec: { resources: { limits: { cpu: '1' } } } }, { spec: {} }],
  [
    'SupplementalGroupsPolicy',
    podTemplateSpec,
    { spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } },
    { spec: { securityContext: {} } },
  ],
  [
    'SELinuxChangePolicy',
    podTemplateSpec,
    { spec: { securityContext: { seLinuxChangePolicy: 'Recursive' } } },
    { spec: { securityContext: {} } },
  ],
  ['VolumeAttributesClass', persistentVolumeSpec, className, {}],
  ['VolumeAttributesClass', persistentVolumeClaimSchema, { spec: className }, { spec: {} }],
  [
    'VolumeAttributesClass',
    persistentVolumeClaimSchema,
    { status: { currentVolumeAttributesClassName: 'c', modifyVolumeStatus: { status: 'Pending' } } },
    { status: {} },
  ],
];

for (const [gate, schema, value, left] of rows) {
  const changed = (old: object | undefined, features: readonly string[]): object => {
    const copy = structuredClone(value);
    dropDisabledFields(schema, copy, old, new Set(features));
    return copy;
  };
  test(`${gate}: ${JSON.stringify(value)} needs the feature`, () => {
    assert.deepEqual(changed(undefined, []), left);
    assert.deepEqual(changed(left, []), left);
    assert.deepEqual(changed(value, []), value, 'an object that has the fields keeps them');
    assert.deepEqual(changed(undefined, [gate]), value);
  });
}
