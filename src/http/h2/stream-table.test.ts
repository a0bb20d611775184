import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import type { ServerStream } from './stream.ts';
import { StreamTable } from './stream-table.ts';

/** The table reads nothing else of a stream. */
const streamOf = (id: number): ServerStream => ({ id }) as ServerStream;

test('the table of streams holds what a Map would, whichever streams close', () => {
  for (const seed of [1, 2, 3]) {
    const random = seededRandom(seed);
    const table = new StreamTable();
    const model = new Map<number, ServerStream>();
    let id = 1;
    for (let step = 0; step < 4_000; step++) {
      const [choice = 0, which = 0, gap = 0] = random.bytes(3);
      if (model.size === 0 || (choice < 135 && model.size < 250)) {
        // Clients may leave ids out, even so that all streams begin at the same slot.
        id += gap < 200 ? 2 : 2 * 16 * (gap - 199);
        const stream = streamOf(id);
        table.add(stream);
        model.set(id, stream);
      } else {
        const closed = [...model.keys()][which % model.size] as number;
        table.delete(closed);
        table.delete(closed);
        model.delete(closed);
        assert.equal(table.get(closed), undefined);
      }
      assert.equal(table.size, model.size);
      for (const [open, stream] of model) assert.equal(table.get(open), stream);
    }
    assert.deepEqual(new Set(table.values()), new Set(model.values()));
  }
});
