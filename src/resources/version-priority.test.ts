import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from './version-priority.ts';

test('versions of a group are preferred by stability, then by number, then by name', () => {
  // The example in the Kubernetes documentation, and two beta versions of one number.
  const preferred = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta2',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ];
  assert.deepEqual([...preferred].reverse().sort(compareVersions), preferred);
  assert.deepEqual([...preferred].sort().sort(compareVersions), preferred);
});
