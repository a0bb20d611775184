import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../base/time/in-slices.ts';
import { constantFault } from './constant-faults.ts';
import { CelFault } from './fault.ts';
import { parseInSteps } from './parse.ts';
import type { Planning } from './step.ts';

/** The names of what is evaluated, and the fault if that of a name fails. */
function lookedAt(source: string, fails?: string) {
  const evaluated: string[] = [];
  const planner: Planning = {
    *plan(expr) {
      const name = expr.kind === 'call' ? expr.name : expr.kind;
      yield;
      return () => {
        evaluated.push(name);
        if (name === fails) throw new CelFault(`${name} failed`);
        return true;
      };
    },
    within: (_, act) => act(0),
  };
  return { fault: allAtOnce(constantFault(allAtOnce(parseInSteps(source)), planner)), evaluated };
}

describe('constants of an expression', () => {
  for (const [source, evaluated] of [
    ['int("1")', ['int']],
    ['int(string(int(1)))', ['int']],
    ['int(string(1)) == 2 && size(string(3)) > uint(4)', ['int', 'string', 'uint']],
    ['[a, string(1)].exists(x, x == string(2))', ['string', 'string']],
    ['int(a)', []],
    ['int(string(a) + string(1))', ['string']],
    ['1 / 0', []],
    ['"1"', []],
  ] as const) {
    it(`are evaluated once, with the outermost conversion: ${source}`, () => {
      assert.deepEqual(lookedAt(source), { fault: undefined, evaluated });
    });
  }

  it('have the first fault', () => {
    const { fault, evaluated } = lookedAt('string(1) == "" || int("x") == 1 || uint("y") == 1u', 'int');
    assert.deepEqual([fault, evaluated], ['int failed', ['string', 'int']]);
  });

  it('are patterns of searches, too', () => {
    assert.match(
      lookedAt('a.find("(") == "" && int("x") == 1').fault ?? '',
      /^error parsing regexp: missing closing \)/,
    );
    assert.equal(lookedAt('a.find("x") == ""').fault, undefined);
  });
});
