import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { RecentDocuments } from './recent-documents.ts';

const half = Buffer.alloc(limits.recentDocumentsBytesMax / 2);

test('the documents that were asked for last are kept', () => {
  const recent = new RecentDocuments();
  const kept = () => ['a', 'b', 'c', 'd'].filter((hash) => recent.get(hash)).join('');
  for (const hash of ['a', 'b']) recent.add({ hash, json: half });
  assert.equal(kept(), 'ab');
  recent.get('a');
  recent.add({ hash: 'c', json: half });
  assert.equal(kept(), 'ac');
  recent.add({ hash: 'd', json: Buffer.concat([half, half, Buffer.alloc(1)]) });
  assert.equal(kept(), 'ac', 'one that is too large drops no other');
  recent.add({ hash: 'd', json: Buffer.concat([half, half]) });
  assert.equal(kept(), 'd');
});
