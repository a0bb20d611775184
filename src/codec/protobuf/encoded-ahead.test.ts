import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { EncodedAhead } from './encoded-ahead.ts';

const { protobufListKeptBytes, protobufListsKeptBytes } = limits;

/** Lists that end with the test. */
class Lists implements Disposable {
  readonly #begun: EncodedAhead[] = [];

  begin(...lengths: readonly number[]): EncodedAhead {
    const list = new EncodedAhead();
    this.#begun.push(list);
    for (const length of lengths) list.keep(Buffer.alloc(length));
    return list;
  }

  [Symbol.dispose](): void {
    for (const list of this.#begun) list.giveUp();
  }
}

describe('items that are encoded before they can be sent', () => {
  it('are each taken once', () => {
    using lists = new Lists();
    const list = lists.begin(1, 2, 3);
    assert.deepEqual(
      [0, 1, 2, 1].map((index) => list.take(index)?.length),
      [1, 2, 3, undefined],
    );
    assert.equal(list.take(3), undefined);
  });

  it('are not kept of a list that is too long', () => {
    using lists = new Lists();
    const list = lists.begin(protobufListKeptBytes);
    assert.ok(list.keeps);
    list.keep(Buffer.alloc(1));
    assert.ok(!list.keeps);
    assert.equal(list.take(0), undefined);
  });

  it('are given up by the lists that began first where all keep too much', () => {
    using lists = new Lists();
    const half = protobufListKeptBytes / 2;
    const begun = Array.from({ length: protobufListsKeptBytes / half }, () => lists.begin(half));
    const last = lists.begin(1);
    assert.deepEqual(
      [...begun, last].map(({ keeps }) => keeps),
      [false, ...begun.slice(1).map(() => true), true],
    );
    // What was taken or given up makes room.
    begun[1]?.take(0);
    lists.begin(half, half - 1);
    assert.deepEqual(
      begun.slice(2).map(({ keeps }) => keeps),
      begun.slice(2).map(() => true),
    );
  });
});
