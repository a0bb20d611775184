import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Change, StoreError } from '../../store.ts';
import { packOutcomes, unpackWrites, type WriteOutcome, type WriteRequest } from './messages.ts';
import { WriteGroups } from './write-groups.ts';

const create = (name: string): WriteRequest => ({ verb: 'create', key: name, value: new Uint8Array(1), expected: 0 });

interface SentGroup {
  readonly keys: readonly string[];
  answer(outcomes: Parameters<typeof packOutcomes>[0]['outcomes'], isFull?: boolean): void;
  fail(error: Error): void;
}

const groupsUnderTest = () => {
  const sent: SentGroup[] = [];
  const published: Change[] = [];
  const failed: unknown[] = [];
  let full = 0;
  const groups = new WriteGroups({
    commit: (packed) => {
      const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
      const keys = unpackWrites(packed)
        .flatMap((write) => (write.verb === 'batch' ? write.writes : [write]))
        .map(({ key }) => Buffer.from(key).toString());
      sent.push({
        keys,
        answer: (outcomes, isFull = false) => resolve(packOutcomes({ isFull, outcomes })),
        fail: reject,
      });
      return promise;
    },
    published: (changes) => void published.push(...changes),
    becameFull: () => void full++,
    failed: (error) => void failed.push(error),
  });
  return { groups, sent, published, failed, timesFull: () => full };
};

const committed = (revision: number): WriteOutcome => ({ status: 'committed', revision, previous: new Uint8Array(0) });

test('writes of one turn form one group, and those that arrive meanwhile the next', async () => {
  const { groups, sent, published } = groupsUnderTest();
  const first = [groups.write(create('a')), groups.write(create('b'))];
  await turn();
  const second = groups.write(create('c'));
  await turn();
  const third = [groups.write(create('d')), groups.write(create('e'))];
  await turn();
  assert.deepEqual(
    sent.map(({ keys }) => keys),
    [['a', 'b'], ['c']],
  );
  sent[0]?.answer([committed(2), committed(3)]);
  assert.deepEqual(await Promise.all(first), [{ revision: 2 }, { revision: 3 }]);
  assert.deepEqual(
    published.map(({ key }) => key),
    ['a', 'b'],
  );
  await turn();
  assert.deepEqual(sent[2]?.keys, ['d', 'e']);
  sent[1]?.answer([committed(4)]);
  sent[2]?.answer([committed(5), committed(6)]);
  await Promise.all([second, ...third, groups.idle()]);
});

test('refusals reach their callers, and only commits are published', async () => {
  const { groups, sent, published } = groupsUnderTest();
  const calls = ['a', 'b', 'c', 'd'].map((name) => groups.write({ ...create(name), verb: 'update', expected: 2 }));
  await turn();
  const previous = Uint8Array.of(9);
  sent[0]?.answer([
    { status: 'conflict', revision: 7 },
    { status: 'committed', revision: 8, previous },
    { status: 'notFound' },
  ]);
  await assert.rejects(calls[0] ?? assert.fail(), { code: 'conflict', key: 'a', revision: 7 });
  await assert.rejects(calls[2] ?? assert.fail(), { code: 'notFound', key: 'c' });
  await assert.rejects(calls[3] ?? assert.fail(), { code: 'unknownOutcome' });
  assert.deepEqual(published, [
    {
      type: 'update',
      key: 'b',
      revision: 8,
      value: new Uint8Array(1),
      previous: { key: 'b', value: previous, revision: 2 },
    },
  ]);
});

test('a group that fails rejects its writes and no others', async () => {
  const { groups, sent, published } = groupsUnderTest();
  const lost = groups.write(create('a'));
  await turn();
  const kept = groups.write(create('b'));
  await turn();
  sent[0]?.fail(new StoreError('full', 'no room'));
  await assert.rejects(lost, { code: 'full' });
  sent[1]?.answer([committed(2)]);
  assert.deepEqual(await kept, { revision: 2 });
  await groups.idle();
  assert.equal(published.length, 1);
});

test('a group is bounded', async () => {
  const { groups, sent } = groupsUnderTest();
  const calls = Array.from({ length: 1_500 }, (_, index) => groups.write(create(`/${index}`)));
  await turn();
  await turn();
  assert.deepEqual(
    sent.map(({ keys }) => keys.length),
    [1_024, 476],
  );
  for (const { keys, answer } of sent) answer(keys.map((_, index) => committed(index + 1)));
  await Promise.all(calls);
});

test('a batch is sent and completed as a whole', async () => {
  const { groups, sent, published } = groupsUnderTest();
  const singles = Array.from({ length: 1_000 }, (_, index) => groups.write(create(`/${index}`)));
  const names = Array.from({ length: 100 }, (_, index) => `/batch/${index}`);
  const batch = groups.batch(names.map(create));
  const refused = groups.batch([create('x'), create('y')]);
  const lost = groups.batch([create('z')]);
  await turn();
  await turn();
  assert.deepEqual(
    sent.map(({ keys }) => keys.length),
    [1_100, 3],
  );
  const previous = names.map(() => new Uint8Array(0));
  sent[0]?.answer([
    ...singles.keys().map((index) => committed(index + 1)),
    { status: 'batchCommitted', first: 1_001, previous },
  ]);
  assert.deepEqual(
    await batch,
    names.map((_, index) => ({ revision: 1_001 + index })),
  );
  assert.deepEqual(
    published.slice(1_000).map(({ key, revision }) => [key, revision]),
    names.map((name, index) => [name, 1_001 + index]),
  );
  sent[1]?.answer([{ status: 'batchRefused', index: 1, refusal: { status: 'exists', revision: 7 } }]);
  await assert.rejects(refused, { code: 'exists', key: 'y', revision: 7 });
  await assert.rejects(lost, { code: 'unknownOutcome' });
  await Promise.all(singles);
  assert.equal(published.length, 1_100);
});

test('a failure of a group is reported, unless the disk was full', async () => {
  const { groups, sent, failed } = groupsUnderTest();
  for (const error of [new StoreError('full', 'no room'), new StoreError('unavailable', 'no disk')]) {
    const write = groups.write(create('a'));
    await turn();
    sent.at(-1)?.fail(error);
    await assert.rejects(write, error);
  }
  assert.deepEqual(failed, [new StoreError('unavailable', 'no disk')]);
});

test('a full disk is reported, whether or not the group could use the reserve', async () => {
  const { groups, sent, published, timesFull } = groupsUnderTest();
  const calls = Promise.allSettled([groups.write(create('a')), groups.write({ ...create('b'), verb: 'delete' })]);
  await turn();
  sent[0]?.answer([{ status: 'full' }, committed(2)], true);
  assert.deepEqual(
    (await calls).map((call) => (call.status === 'rejected' ? call.reason.code : call.value.revision)),
    ['full', 2],
  );
  assert.deepEqual([published.length, timesFull()], [1, 1]);
  const lost = groups.write(create('c'));
  await turn();
  sent[1]?.fail(new StoreError('full', 'no room'));
  await assert.rejects(lost, { code: 'full' });
  assert.equal(timesFull(), 2);
});
