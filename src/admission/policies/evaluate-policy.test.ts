import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../base/time/clock.ts';
import type { ValidatingPolicySpec } from '../../kinds/admissionregistration/validating-policy-schema.ts';
import { evaluatePolicy } from './evaluate-policy.ts';
import { validatingExpressions } from './policy-expressions.ts';

const input = {
  request: {},
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } },
  oldObject: undefined,
  decisions: { decide: () => assert.fail('nobody asks') },
  requestResource: { group: '', resource: 'configmaps', subresource: '', namespace: 'n', name: 'x' },
};

async function judge(spec: ValidatingPolicySpec) {
  const compiled = await validatingExpressions(spec).get(systemClock);
  const { decisions, annotations, annotationFailures } = await evaluatePolicy(compiled, input, systemClock);
  const shown = ({ index, type, message }: (typeof decisions)[number]) => `${index} ${type}: ${message}`;
  return { decisions: decisions.map(shown), annotations, failures: annotationFailures.map(shown) };
}

const overBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';
/** Costs some 900,000 of the 10 million of a binding. */
const costly = (index: number): string => `${'[0, 1].all(x, '.repeat(16)}${index} >= 0${')'.repeat(16)}`;
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 40 }, (_, index) => make(index));

describe('what a policy says', () => {
  it('is in the order of its rules, with the messages that it gives', async () => {
    const { decisions } = await judge({
      validations: [
        { expression: 'false', message: ' first ' },
        { expression: 'object.spec.x > 0', message: 'second' },
        { expression: 'true' },
        { expression: "object.metadata.name == 'y'", messageExpression: "'not ' + object.metadata.name" },
        { expression: 'false', messageExpression: 'string(object.absent)', message: 'instead' },
        { expression: ' 1 > 2 ' },
      ],
    });
    assert.deepEqual(decisions, [
      '0 unmet: first',
      "1 failed: expression 'object.spec.x > 0' resulted in error: no such key: spec",
      '3 unmet: not x',
      '4 unmet: instead',
      '5 unmet: failed expression: 1 > 2',
    ]);
  });

  it('is one failure if the rules cost too much, whatever was found before', async () => {
    const validations = [
      { expression: 'false', message: 'first' },
      ...many((index) => ({ expression: costly(index) })),
    ];
    const said = await judge({ validations, auditAnnotations: [{ key: 'a', valueExpression: "'b'" }] });
    assert.deepEqual(said, { decisions: [`0 failed: ${overBudget}`], annotations: [], failures: [] });
  });

  it('is a failure of each rule if the messages cost too much', async () => {
    const texts = many((index) => ({ expression: 'false', messageExpression: `${costly(index)} ? 'a' : 'b'` }));
    const { decisions } = await judge({
      validations: [{ expression: 'true' }, { expression: 'object.spec.x > 0' }, ...texts],
    });
    assert.equal(decisions.length, texts.length + 2);
    assert.equal(decisions[0], `0 failed: failed messageExpression: ${overBudget}`);
    assert.match(decisions[1] ?? '', /^1 failed: expression 'object.spec.x > 0' resulted in error/);
    assert.equal(decisions.at(-1), `${texts.length + 1} failed: failed messageExpression: ${overBudget}`);
  });

  it('has annotations, and those that failed apart', async () => {
    const auditAnnotations = [
      { key: 'name', valueExpression: "' ' + object.metadata.name" },
      { key: 'none', valueExpression: 'null' },
      { key: 'empty', valueExpression: "' '" },
      { key: 'failed', valueExpression: 'string(object.absent)' },
    ];
    assert.deepEqual(await judge({ auditAnnotations }), {
      decisions: [],
      annotations: [['name', 'x']],
      failures: ["0 failed: expression 'string(object.absent)' resulted in error: no such key: absent"],
    });
    const all = many((index) => ({ key: `k${index}`, valueExpression: `${costly(index)} ? 'a' : 'b'` }));
    const said = await judge({ validations: [{ expression: 'false' }], auditAnnotations: all });
    assert.deepEqual(said, { decisions: [`0 failed: ${overBudget}`], annotations: [], failures: [] });
  });
});
