import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WatchEvent, WatchResponse } from './etcd-messages.ts';
import { WatchBatches } from './watch-batches.ts';

const event = (modRevision: number): WatchEvent => ({
  type: 'put',
  record: { key: Buffer.from('/a'), value: Buffer.from('x'), createRevision: modRevision, modRevision, version: 1 },
  previous: undefined,
});

const message = (revisions: readonly number[], changes: Partial<WatchResponse> = {}): WatchResponse => ({
  header: { revision: 100 },
  created: false,
  canceled: false,
  cancelReason: '',
  compactRevision: 0,
  fragment: false,
  events: revisions.map(event),
  ...changes,
});

/** A batch in short form: the revisions of its events, then `upTo` its own revision. */
const take = (batches: WatchBatches, response: WatchResponse): string | undefined => {
  const batch = batches.take(response);
  if (!batch) return undefined;
  const events = batch.events.map(({ record }) => record.modRevision).join(' ');
  return `${events} upTo ${batch.revision}`.trim();
};

const fragment = { fragment: true };
const progress = (revision: number) => message([], { header: { revision } });

describe('watch batches', () => {
  const steps: Record<string, readonly (readonly [WatchResponse, string | undefined])[]> = {
    'events up to their own last revision, not the header': [[message([5, 6]), '5 6 upTo 6']],
    'a fragment holds its last revision back': [
      [message([5, 5, 6], fragment), '5 5 upTo 5'],
      [message([6, 7], fragment), '6 6 upTo 6'],
      [message([7]), '7 7 upTo 7'],
    ],
    'a revision over many fragments comes whole': [
      [message([5], fragment), undefined],
      [message([5], fragment), undefined],
      [message([5]), '5 5 5 upTo 5'],
    ],
    'the end of a fragmented response may be of a later revision': [
      [message([5], fragment), undefined],
      [message([6]), '5 6 upTo 6'],
    ],
    'progress moves on': [
      [progress(7), 'upTo 7'],
      [message([9]), '9 upTo 9'],
      [progress(12), 'upTo 12'],
    ],
    'progress that goes back or stands still is dropped': [
      [progress(3), undefined],
      [progress(4), undefined],
    ],
    'progress while a revision is held back is dropped': [
      [message([5], fragment), undefined],
      [progress(9), undefined],
      [message([5]), '5 5 upTo 5'],
    ],
    'the announcement of a watch is no progress': [[message([], { created: true }), undefined]],
    'events that were given already are dropped': [
      [message([5, 6]), '5 6 upTo 6'],
      [message([5, 6]), undefined],
      [message([4, 6, 7]), '7 upTo 7'],
    ],
  };
  for (const [name, expected] of Object.entries(steps)) {
    test(name, () => {
      const batches = new WatchBatches(4);
      for (const [response, batch] of expected) assert.equal(take(batches, response), batch);
    });
  }
});
