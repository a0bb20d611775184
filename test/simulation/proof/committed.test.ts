import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Commit, listProblem, stateAt, type WatchedEvent, wholeWatchProblem, writesProblem } from './committed.ts';
import type { Operation } from './operation.ts';

const log: readonly Commit[] = [
  { revision: 2, key: 'a', type: 'create', value: 'x' },
  { revision: 3, key: 'b', type: 'create', value: 'y' },
  { revision: 5, key: 'a', type: 'update', value: 'z' },
  { revision: 6, key: 'b', type: 'delete', value: 'y' },
];

const event = (type: string, key: string, value: string, revision: number): WatchedEvent => ({
  type,
  key,
  value,
  revision,
});
const all = [
  event('ADDED', 'a', 'x', 2),
  event('ADDED', 'b', 'y', 3),
  event('MODIFIED', 'a', 'z', 5),
  event('DELETED', 'b', 'y', 6),
];
const listed = (revision: number): WatchedEvent => event('LISTED', '', '', revision);
const bookmark = (revision: number): WatchedEvent => event('BOOKMARK', '', '', revision);

test('the state at a revision is that of the commits up to it', () => {
  assert.deepEqual(
    [1, 4, 6].map((at) => [...stateAt(log, at)]),
    [
      [],
      [
        ['a', 'x'],
        ['b', 'y'],
      ],
      [['a', 'z']],
    ],
  );
});

describe('watches', () => {
  const problemOf = (events: readonly WatchedEvent[], from = 1) =>
    wholeWatchProblem({ client: 'w', from, events }, log);

  test('all events, in order, with bookmarks where nothing is left out', () => {
    assert.equal(problemOf([...all.slice(0, 2), bookmark(4), ...all.slice(2), bookmark(9)]), undefined);
    assert.equal(problemOf(all.slice(2), 3), undefined);
    assert.equal(problemOf([all[0], listed(4), ...all.slice(2)].filter((each) => each !== undefined)), undefined);
    assert.equal(problemOf([listed(9)]), undefined);
  });

  const wrong: readonly (readonly [string, readonly WatchedEvent[], RegExp])[] = [
    ['skipped', all.toSpliced(1, 1), /b at 3 was skipped/],
    ['missing at the end', all.slice(0, 3), /b at 6 was never shown/],
    ['doubled', [all[0], all[0], ...all.slice(1)].filter((each) => each !== undefined), /doubled, or out of order/],
    ['out of order', [all[1], all[0], ...all.slice(2)].filter((each) => each !== undefined), /was skipped/],
    ['of another type', all.with(2, event('ADDED', 'a', 'z', 5)), /where update a z was written/],
    ['of another value', all.with(2, event('MODIFIED', 'a', 'x', 5)), /where update a z was written/],
    ['of nothing', [...all, event('ADDED', 'c', 'x', 9)], /nothing was written/],
    ['a bookmark that promises too much', [bookmark(4), ...all], /bookmark at 4 before a at 2/],
    ['skipped after a list', [listed(2), ...all.slice(2)], /b at 3 was skipped/],
    ['a list that goes back', [...all, listed(5)], /a list at 5 after 6/],
    ['missing after a list', [listed(5)], /b at 6 was never shown/],
    ['a bookmark that goes back', [...all, bookmark(9), bookmark(8)], /bookmark at 8 after 9/],
  ];
  for (const [what, events, problem] of wrong)
    test(`wrong: ${what}`, () => assert.match(problemOf(events) ?? '', problem));
});

const operation = (call: Operation['call'], answer: Operation['answer'], key = 'a'): Operation => ({
  ...{ client: 'c', key, call, answer, invokedAt: 1, answeredAt: 2 },
});

describe('writes and lists', () => {
  const known: readonly Operation[] = [
    operation({ type: 'create', value: 'x' }, { type: 'done', value: 'x', revision: 2 }),
    operation({ type: 'create', value: 'y' }, { type: 'unknown' }, 'b'),
    operation({ type: 'update', value: 'z' }, { type: 'done', value: 'z', revision: 5 }),
    operation({ type: 'update', value: 'lost' }, { type: 'unknown' }),
    operation({ type: 'update', value: 'no' }, { type: 'refused' }),
  ];

  test('each write is where it should be', () => assert.equal(writesProblem(known, log), undefined));

  const wrong: readonly (readonly [string, readonly Operation[], readonly Commit[], RegExp])[] = [
    ['lost', known, log.filter(({ value }) => value !== 'z'), /a z was acknowledged and is lost/],
    [
      'at another revision',
      known,
      log.map((each) => (each.value === 'z' ? { ...each, revision: 4 } : each)),
      /acknowledged at 5 and is at 4/,
    ],
    ['twice', known, [...log, { revision: 7, key: 'b', type: 'create', value: 'y' }], /b y was written 2 times/],
    [
      'refused, and written',
      known,
      [...log, { revision: 7, key: 'a', type: 'update', value: 'no' }],
      /"refused" and written all the same/,
    ],
    ['by nobody', known.slice(1), log, /a x was written by nobody/],
  ];
  for (const [what, operations, commits, problem] of wrong) {
    test(`wrong: ${what}`, () => assert.match(writesProblem(operations, commits) ?? '', problem));
  }

  const list = (revision: number, items: Readonly<Record<string, string>>, exact?: number) =>
    listProblem({ client: 'c', revision, exact, items: new Map(Object.entries(items)), invokedAt: 3 }, log, known);

  test('a list shows what was there', () => {
    assert.equal(list(6, { a: 'z' }), undefined);
    assert.equal(list(3, { a: 'x', b: 'y' }, 3), undefined);
  });
  test('wrong: what was not there', () =>
    assert.match(list(6, { a: 'z', b: 'y' }) ?? '', /saw b as y at 6, where it was undefined/));
  test('wrong: less than was acknowledged', () =>
    assert.match(list(3, { a: 'x', b: 'y' }) ?? '', /was given 3 after 5/));
  test('wrong: another revision than was asked for', () =>
    assert.match(list(6, { a: 'z' }, 5) ?? '', /asked for 5 and was given 6/));
});
