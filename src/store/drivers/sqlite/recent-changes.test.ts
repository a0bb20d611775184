import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../store.ts';
import { RecentChanges } from './recent-changes.ts';

const change = (revision: number, size = 10): Change => ({
  type: 'create',
  key: `/${revision}`,
  revision,
  value: new Uint8Array(size),
});

const revisions = (changes: readonly Change[] | undefined) => changes?.map(({ revision }) => revision);

test('changes after a revision, as far back as they are kept', () => {
  const recent = new RecentChanges(4, { changesMax: 5, bytesMax: 1_000 });
  assert.deepEqual(revisions(recent.after(4, 10)), []);
  assert.equal(recent.after(3, 10), undefined);
  recent.add([change(5), change(7), change(9)]);
  assert.deepEqual(revisions(recent.after(4, 10)), [5, 7, 9]);
  assert.deepEqual(revisions(recent.after(6, 10)), [7, 9]);
  assert.deepEqual(revisions(recent.after(4, 2)), [5, 7]);
  assert.deepEqual(revisions(recent.after(9, 10)), []);
  assert.deepEqual(revisions(recent.after(50, 10)), []);
  recent.add([change(10), change(11), change(12), change(13)]);
  assert.deepEqual(revisions(recent.after(7, 10)), [9, 10, 11, 12, 13]);
  assert.equal(recent.after(6, 10), undefined, '7 is no longer kept');
});

test('retained changes are limited in number and bytes', () => {
  const recent = new RecentChanges(0, { changesMax: 100, bytesMax: 5_000 });
  for (let revision = 1; revision <= 10_000; revision++) {
    recent.add([change(revision, revision % 200)]);
    assert.ok(recent.count <= 100 && recent.bytes <= 5_000);
    assert.deepEqual(revisions(recent.after(revision - 1, 10)), [revision]);
  }
  recent.add([change(10_001, 6_000)]);
  assert.equal(recent.count, 0);
  assert.equal(recent.bytes, 0);
  assert.equal(recent.after(10_000, 10), undefined, 'larger than all that may be kept: read from the file');
  assert.deepEqual(revisions(recent.after(10_001, 10)), []);
});
