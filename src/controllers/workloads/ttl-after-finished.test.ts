import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expiryOf } from './ttl-after-finished.ts';

const lastTransitionTime = '2026-01-01T00:00:00Z';
const end = (type: string, status = 'True', more: object = { lastTransitionTime }) => ({
  conditions: [{ type, status, ...more }],
});
const ends = Date.parse(lastTransitionTime);

describe('when a job is to be deleted', () => {
  for (const [what, ttlSecondsAfterFinished, status, metadata, expected] of [
    ['completed', 10, end('Complete'), {}, ends + 10_000],
    ['failed', 10, end('Failed'), {}, ends + 10_000],
    ['at once', 0, end('Complete'), {}, ends],
    ['never', undefined, end('Complete'), {}, undefined],
    ['not before it has finished', 10, {}, {}, undefined],
    ['not while it only fails to', 10, end('Complete', 'False'), {}, undefined],
    ['not while it is suspended', 10, end('Suspended'), {}, undefined],
    ['not without a time', 10, end('Complete', 'True', {}), {}, undefined],
    ['not twice', 10, end('Complete'), { deletionTimestamp: lastTransitionTime }, undefined],
  ] as const) {
    it(what, () => {
      const spec = { ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }) };
      assert.equal(expiryOf({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec, status }), expected);
    });
  }
});
