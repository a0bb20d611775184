import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Cel, loadCel } from '../../cel/cel.ts';
import { parseFieldSelector, parseLabelSelector } from '../../meta/selectors.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes } from '../authorizer.ts';
import { readQuestion } from '../rbac/rbac-objects-fixture.ts';
import { compileMatchConditions, type Match } from './match-conditions.ts';
import { reviewSpec } from './review.ts';

let cel: Cel;
before(async () => {
  cel = await loadCel();
});

const jane: UserInfo = { username: 'jane', uid: '7', groups: ['dev', 'ops'], extra: { 'example.org/a': ['1', '2'] } };
const pods = readQuestion('get pods/log team x');
const list = {
  ...readQuestion('list pods team'),
  fieldSelector: parseFieldSelector('spec.nodeName=a'),
  labelSelector: parseLabelSelector(
    'app in (x,y),tier',
    () => [],
    () => [],
  ),
};
const path = readQuestion('get /healthz');

function evaluate(expression: string, question: Attributes): Match {
  const { conditions, errors } = compileMatchConditions([expression], 'matchConditions', cel);
  assert.deepEqual(errors, []);
  return conditions.evaluate(reviewSpec(question, jane));
}

/** Expected results for a resource, a list with selectors, and a path: true (`Y`), false (`.`), or an error (`!`). */
const table: readonly (readonly [expression: string, marks: string])[] = [
  ['true', 'YYY'],
  ["request.user == 'jane'", 'YYY'],
  ["request.user.startsWith('system:')", '...'],
  ["request.uid == '7'", 'YYY'],
  ["'ops' in request.groups", 'YYY'],
  ["request.groups.exists(g, g == 'sales')", '...'],
  ["request.extra['example.org/a'] == ['1', '2']", 'YYY'],
  ["'b' in request.extra", '...'],
  ["request.extra['b'] == []", '!!!'],
  ['has(request.resourceAttributes)', 'YY.'],
  ['has(request.nonResourceAttributes)', '..Y'],
  ["request.resourceAttributes.verb == 'get'", 'Y.!'],
  ["has(request.resourceAttributes) && request.resourceAttributes.namespace == 'team'", 'YY.'],
  ["request.resourceAttributes.group == '' && request.resourceAttributes.version == 'v1'", 'YY!'],
  ["request.resourceAttributes.subresource == 'log' && request.resourceAttributes.name == 'x'", 'Y.!'],
  ["request.nonResourceAttributes.path == '/healthz' && request.nonResourceAttributes.verb == 'get'", '!!Y'],
  ['has(request.resourceAttributes.labelSelector)', '.Y!'],
  ['has(request.resourceAttributes.fieldSelector.rawSelector)', '!.!'],
  ["request.resourceAttributes.fieldSelector.requirements[0].key == 'spec.nodeName'", '!Y!'],
  [
    "request.resourceAttributes.labelSelector.requirements.exists(r, r.operator == 'In' && r.values == ['x', 'y'])",
    '!Y!',
  ],
  ["request.resourceAttributes.labelSelector.requirements.exists(r, r.operator == 'Exists' && r.values == [])", '!Y!'],
  ['request.?resourceAttributes.?labelSelector.hasValue()', '.Y.'],
];

describe('match conditions see the review', () => {
  for (const [expression, marks] of table) {
    it(expression, () => {
      const found = [pods, list, path].map((question) => {
        const { type } = evaluate(expression, question);
        return { match: 'Y', excluded: '.', failed: '!' }[type];
      });
      assert.equal(found.join(''), marks);
    });
  }

  it('within a cost limit', () => {
    const many: UserInfo = { ...jane, groups: Array.from({ length: 200 }, (_, index) => `group-${index}`) };
    const expression = 'request.groups.all(a, request.groups.all(b, request.groups.all(c, a + b != c)))';
    const { conditions, errors } = compileMatchConditions([expression], 'matchConditions', cel);
    assert.deepEqual(errors, []);
    assert.equal(conditions.evaluate(reviewSpec(path, many)).type, 'failed');
  });
});

describe('match conditions are validated when they are compiled', () => {
  for (const expression of [
    'request.user',
    'request.usr == 1',
    'request.user == 1',
    "request.user = 'x'",
    "user == 'x'",
    'request.resourceAttributes.kind == ""',
    'request.groups + 1',
    'size(',
    'object.x',
  ]) {
    it(expression, () => {
      const { errors } = compileMatchConditions(['true', expression], 'webhook.matchConditions', cel);
      assert.deepEqual(
        errors.map(({ type, field, value }) => ({ type, field, value })),
        [{ type: 'FieldValueInvalid', field: 'webhook.matchConditions[1].expression', value: expression }],
      );
    });
  }
});
