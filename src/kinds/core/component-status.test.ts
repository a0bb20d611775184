import assert from 'node:assert/strict';
import { test } from 'node:test';
import { row } from '../strategy-fixture.ts';
import { componentStatus } from './component-status.ts';

const rows: readonly (readonly [status: string | undefined, shown: string])[] = [
  ['True', 'Healthy'],
  ['False', 'Unhealthy'],
  ['Unknown', 'Unhealthy'],
  [undefined, 'Unknown'],
];

for (const [status, shown] of rows) {
  test(`ComponentStatus: columns of one that is ${status ?? 'without conditions'}`, () => {
    const conditions = [
      { type: 'Other', status: 'True', message: 'no' },
      ...(status === undefined ? [] : [{ type: 'Healthy', status, message: 'm', error: 'e' }]),
    ];
    const texts = status === undefined ? { Message: '', Error: '' } : { Message: 'm', Error: 'e' };
    assert.deepEqual(row(componentStatus, { conditions }), { Name: 'one', Status: shown, ...texts });
  });
}
