import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SharedRead } from './shared-read.ts';

const reads = () => {
  const pending: PromiseWithResolvers<string>[] = [];
  const shared = new SharedRead(() => {
    const read = Promise.withResolvers<string>();
    pending.push(read);
    return read.promise;
  });
  return { pending, shared };
};

describe('shared read', () => {
  test('callers that arrive during a read share the next one', async () => {
    const { pending, shared } = reads();
    const first = shared.get();
    const later = [shared.get(), shared.get()];
    assert.equal(pending.length, 1);
    pending[0]?.resolve('old');
    assert.equal(await first, 'old');
    assert.equal(pending.length, 2);
    const afterThat = shared.get();
    pending[1]?.resolve('new');
    assert.deepEqual(await Promise.all(later), ['new', 'new']);
    pending[2]?.resolve('newest');
    assert.equal(await afterThat, 'newest');
    assert.equal(pending.length, 3);
  });

  test('a read after a pause is a read of its own', async () => {
    const { pending, shared } = reads();
    for (const [index, answer] of ['a', 'b'].entries()) {
      const read = shared.get();
      pending[index]?.resolve(answer);
      assert.equal(await read, answer);
    }
    assert.equal(pending.length, 2);
  });

  test('a failure is reported to the callers that shared it, and to no others', async () => {
    const { pending, shared } = reads();
    const first = shared.get();
    const second = shared.get();
    pending[0]?.reject(new Error('lost'));
    await assert.rejects(first, /lost/);
    pending[1]?.resolve('found');
    assert.equal(await second, 'found');
  });
});
