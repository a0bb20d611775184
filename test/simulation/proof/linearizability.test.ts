import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isLinearizable, linearizabilityProblem } from './linearizability.ts';
import type { Answer, Call, Operation } from './operation.ts';

const done = (value?: string): Answer => ({ type: 'done', value });
const unknown: Answer = { type: 'unknown' };
const create = (value: string): Call => ({ type: 'create', value });
const update = (value: string, expected?: string): Call => ({ type: 'update', value, expected });
const remove: Call = { type: 'delete' };
const get: Call = { type: 'get' };

type Row = readonly [from: number, to: number, call: Call, answer: Answer];

const operations = (rows: readonly Row[]): readonly Operation[] =>
  rows.map(([invokedAt, answeredAt, call, answer], index) => ({
    client: `c${index}`,
    key: 'a',
    ...{ call, answer, invokedAt, answeredAt },
  }));

const never = Number.POSITIVE_INFINITY;

const right: readonly (readonly [string, readonly Row[]])[] = [
  ['nothing', []],
  [
    'a read of what was written',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, get, done('x')],
    ],
  ],
  [
    'a read beside a write, of before',
    [
      [1, 5, create('x'), done('x')],
      [2, 3, get, { type: 'absent' }],
    ],
  ],
  [
    'a read beside a write, of after',
    [
      [1, 5, create('x'), done('x')],
      [2, 3, get, done('x')],
    ],
  ],
  [
    'two creates, of which one wins',
    [
      [1, 4, create('x'), done('x')],
      [2, 3, create('y'), { type: 'exists' }],
    ],
  ],
  [
    'an unknown write that happened',
    [
      [1, never, create('x'), unknown],
      [5, 6, get, done('x')],
    ],
  ],
  [
    'one that did not',
    [
      [1, never, create('x'), unknown],
      [5, 6, get, { type: 'absent' }],
    ],
  ],
  [
    'one that happened late',
    [
      [1, never, create('x'), unknown],
      [5, 6, get, { type: 'absent' }],
      [7, 8, get, done('x')],
    ],
  ],
  [
    'an unknown deletion that happened',
    [
      [1, 2, create('x'), done('x')],
      [3, never, remove, unknown],
      [4, 5, get, { type: 'absent' }],
    ],
  ],
  [
    'an unknown update of another version, which does nothing',
    [
      [1, 2, create('x'), done('x')],
      [3, never, update('z', 'w'), unknown],
      [4, 5, get, done('x')],
    ],
  ],
  [
    'a conflict with what came between',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, update('y'), done('y')],
      [3, 5, update('z', 'x'), { type: 'conflict' }],
    ],
  ],
  [
    'what was refused does not count',
    [
      [1, 2, create('x'), { type: 'refused' }],
      [3, 4, get, { type: 'absent' }],
    ],
  ],
  [
    'three writes at once, in the only order that reads allow',
    [
      [1, 20, create('x'), done('x')],
      [1, 20, update('y'), done('y')],
      [1, 20, update('z'), done('z')],
      [2, 10, get, done('z')],
      [11, 19, get, done('y')],
    ],
  ],
];

const wrong: readonly (readonly [string, readonly Row[]])[] = [
  [
    'a lost write',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, get, { type: 'absent' }],
    ],
  ],
  [
    'a stale read',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, update('y'), done('y')],
      [5, 6, get, done('x')],
    ],
  ],
  [
    'a read that goes back',
    [
      [1, 9, create('x'), done('x')],
      [2, 3, get, done('x')],
      [4, 5, get, { type: 'absent' }],
    ],
  ],
  [
    'two creates that both win',
    [
      [1, 4, create('x'), done('x')],
      [2, 3, create('y'), done('y')],
    ],
  ],
  ['a value that nobody wrote', [[1, 2, get, done('x')]]],
  [
    'a lost update: both expected the same version',
    [
      [1, 2, create('x'), done('x')],
      [3, 6, update('y', 'x'), done('y')],
      [4, 5, update('z', 'x'), done('z')],
    ],
  ],
  [
    'a conflict without a reason',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, update('y', 'x'), { type: 'conflict' }],
    ],
  ],
  [
    'a deletion that came back',
    [
      [1, 2, create('x'), done('x')],
      [3, 4, remove, done()],
      [5, 6, get, done('x')],
    ],
  ],
  [
    'an unknown write that happened twice',
    [
      [1, 2, create('x'), done('x')],
      [3, never, update('y'), unknown],
      [4, 5, get, done('y')],
      [6, 7, update('z'), done('z')],
      [8, 9, get, done('y')],
    ],
  ],
  [
    'an unknown write that happened before its call',
    [
      [1, 2, get, done('x')],
      [3, never, create('x'), unknown],
    ],
  ],
];

describe('linearizability of a key', () => {
  for (const [what, rows] of right) test(`right: ${what}`, () => assert.ok(isLinearizable(operations(rows))));
  for (const [what, rows] of wrong) test(`wrong: ${what}`, () => assert.ok(!isLinearizable(operations(rows))));

  test('ten writes at once, and reads that only few of their orders explain', () => {
    const rows: Row[] = Array.from({ length: 10 }, (_, index) => [
      1,
      1_000 + index,
      { type: 'apply', value: `v${index}` },
      done(`v${index}`),
    ]);
    assert.ok(isLinearizable(operations([...rows, [2, 2_000, get, done('v3')]])));
  });

  test('of a history that is wrong the shortest beginning is shown', () => {
    const later: Row[] = Array.from({ length: 20 }, (_, index) => [
      100 + index * 2,
      101 + index * 2,
      update(`u${index}`),
      done(`u${index}`),
    ]);
    const rows: readonly Row[] = [[1, 2, create('x'), done('x')], [3, 4, get, { type: 'absent' }], ...later];
    assert.equal(
      linearizabilityProblem(operations(rows)),
      'no order explains the answers about a:\n1-2 c0 create a {"value":"x"} -> done {"value":"x"}\n3-4 c1 get a {} -> absent {}',
    );
  });
});
