import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../../base/limits.ts';
import { created } from '../pod-fixture.ts';

test('containers and volumes are bounded, and said by themselves', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `a${n}`, image: 'b' }));
  const volumes = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `v${n}`, emptyDir: {} }));
  const env = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `E${n}`, value: 'x' }));
  const max = limits.podContainersMax;
  const tooMany = (field: string) => [`FieldValueTooMany spec.${field}`];
  for (const [spec, expected] of [
    [{ containers: many(max) }, []],
    [{ containers: many(max + 1) }, tooMany('containers')],
    [{ containers: many(max), initContainers: [{ name: 'init', image: 'b' }] }, tooMany('containers')],
    [{ containers: many(1), volumes: volumes(limits.podVolumesMax) }, []],
    [{ containers: many(1), volumes: volumes(limits.podVolumesMax + 1) }, tooMany('volumes')],
    [{ containers: [{ name: 'a', image: 'b', env: env(limits.podPartsMax - 1) }] }, []],
    [{ containers: [{ name: 'a', image: 'b', env: env(limits.podPartsMax) }] }, ['FieldValueTooMany spec']],
    [{ containers: [{ name: 'a', image: 'b', args: Array(limits.podPartsMax).fill('x') }] }, []],
    [
      { containers: many(1), tolerations: Array(limits.podPartsMax).fill({ operator: 'Exists' }) },
      ['FieldValueTooMany spec'],
    ],
  ] as const) {
    assert.deepEqual(
      created({ spec }).errors.map(({ type, field }) => `${type} ${field}`),
      expected,
    );
  }
});
