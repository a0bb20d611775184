import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { claimOf } from './claim.ts';

const object = (metadata: ObjectMeta): ApiObject => ({ apiVersion: 'v1', kind: 'Any', metadata });
const selector = [{ operator: 'in', key: 'app', values: new Set(['x']) }] as const;
const owner: ObjectMeta = { name: 'web', namespace: 'ns', uid: 'mine' };
const ownedBy = (uid: string, controller = true) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller }],
});
const selected = { namespace: 'ns', labels: { app: 'x' } };
const other = { namespace: 'ns', labels: { app: 'y' } };
const deletionTimestamp = '2026-01-01T00:00:00Z';

describe('what an owner does about an object', () => {
  for (const [what, metadata, expected, whenLeaving] of [
    ['an orphan that it selects', selected, 'adopt', 'leave'],
    ['an orphan of others', other, 'leave', 'leave'],
    ['an orphan that is being deleted', { ...selected, deletionTimestamp }, 'leave', 'leave'],
    ['an orphan in another namespace', { ...selected, namespace: 'there' }, 'leave', 'leave'],
    ['its own', { ...selected, ...ownedBy('mine') }, 'keep', 'keep'],
    ['its own that is being deleted', { ...selected, ...ownedBy('mine'), deletionTimestamp }, 'keep', 'keep'],
    ['its own with other labels', { ...other, ...ownedBy('mine') }, 'release', 'leave'],
    ['that of another', { ...selected, ...ownedBy('theirs') }, 'leave', 'leave'],
    ['one with an owner that is no controller', { ...selected, ...ownedBy('theirs', false) }, 'adopt', 'leave'],
  ] as const) {
    it(what, () => {
      assert.equal(claimOf({ owner: object(owner), selector }, object(metadata)), expected);
      const leaving = object({ ...owner, deletionTimestamp });
      assert.equal(claimOf({ owner: leaving, selector }, object(metadata)), whenLeaving);
    });
  }
});
