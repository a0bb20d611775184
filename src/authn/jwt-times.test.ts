import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JwtTimes, readTimes, type TimeProblem, timeProblem } from './jwt-times.ts';

const now = Date.UTC(2026, 0, 1);
const nowSeconds = now / 1000;

const cases: readonly (readonly [JwtTimes, number, TimeProblem | undefined])[] = [
  [{}, now, undefined],
  [{ expires: nowSeconds }, now, undefined],
  [{ expires: nowSeconds - 60 }, now, undefined],
  [{ expires: nowSeconds - 60 }, now + 1, 'expired'],
  [{ expires: nowSeconds - 61 }, now, 'expired'],
  [{ expires: -1 }, now, 'expired'],
  [{ notBefore: nowSeconds + 60 }, now, undefined],
  [{ notBefore: nowSeconds + 60 }, now - 1, 'notYetValid'],
  [{ notBefore: nowSeconds + 61 }, now, 'notYetValid'],
  [{ issuedAt: nowSeconds + 60 }, now, undefined],
  [{ issuedAt: nowSeconds + 61 }, now, 'issuedInFuture'],
  [{ issuedAt: nowSeconds - 1, notBefore: nowSeconds - 1, expires: nowSeconds + 1 }, now, undefined],
];

for (const [times, at, problem] of cases) {
  test(`${JSON.stringify(times)} is ${problem ?? 'in time'} at ${at - now} ms`, () => {
    assert.equal(timeProblem(times, at), problem);
  });
}

test('the leeway is configurable', () => {
  assert.equal(timeProblem({ expires: nowSeconds - 1 }, now, 0), 'expired');
});

test('times are numbers, truncated to whole seconds', () => {
  assert.deepEqual(readTimes({ claims: { exp: 10.9, nbf: 2n ** 60n } }), { expires: 10, notBefore: 2 ** 60 });
  for (const value of ['10', null, true, [10], {}]) {
    for (const name of ['exp', 'nbf', 'iat']) {
      assert.throws(() => readTimes({ claims: { [name]: value } }), new RegExp(`claim ${name} is not a number`));
    }
  }
});
