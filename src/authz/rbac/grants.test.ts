import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { type BindingEntry, makeBindingEntry } from './binding-entry.ts';
import { rule, urls } from './bootstrap-policy/policy-objects.ts';
import { compileRole } from './compiled-role.ts';
import { AnswerBudget, Grants } from './grants.ts';

const names = ['a', 'b', 'c'];
const role = compileRole([rule('get', 'secrets', { names }), urls('get', '/a /b/*')]);
const binding = (name: string): BindingEntry =>
  makeBindingEntry({
    kind: 'ClusterRoleBinding',
    namespace: '',
    name,
    roleKind: 'ClusterRole',
    roleName: 'r',
    subjects: [],
  });

function make() {
  const budget = new AnswerBudget();
  const grants = new Grants(() => role, budget);
  grants.add(binding('x'));
  const ask = (of: Grants, resource: string): BindingEntry | undefined =>
    of.allowsResource({ verb: 'get', group: '', resource, subresource: '' }, resource, 'a');
  return { budget, grants, ask };
}

describe('cached results', () => {
  test('each counts once, plus the names in it', () => {
    const { budget, grants, ask } = make();
    for (let i = 0; i < 3; i++) assert.equal(ask(grants, 'secrets')?.name, 'x');
    assert.equal(budget.kept, 1 + names.length);
    for (let i = 0; i < 3; i++) assert.equal(ask(grants, 'pods'), undefined);
    assert.equal(budget.kept, 2 + names.length);
    grants.allowsPath({ verb: 'get', path: '/a' });
    grants.allowsPath({ verb: 'get', path: '/b/c' });
    assert.equal(budget.kept, 5 + names.length);
  });

  test('are released when something changes', () => {
    const { budget, grants, ask } = make();
    for (const change of [() => grants.forget(), () => grants.add(binding('y')), () => grants.delete(binding('z'))]) {
      ask(grants, 'secrets');
      assert.ok(budget.kept > 0);
      change();
      assert.equal(budget.kept, 0);
    }
  });

  test('never exceed the limit in total', () => {
    const { budget, grants, ask } = make();
    const other = new Grants(() => role, budget);
    for (let i = 0; i < limits.rbacAnswersKept + 10; i++) {
      ask(i % 2 === 0 ? grants : other, `r${i}`);
      assert.ok(budget.kept <= limits.rbacAnswersKept);
    }
    assert.ok(budget.kept <= 10, 'all were forgotten, those of the other too');
    assert.equal(ask(grants, 'secrets')?.name, 'x');
  });

  test('one nearly as large as the budget is not cached, and evicts nothing', () => {
    const { budget, grants, ask } = make();
    ask(grants, 'secrets');
    const before = budget.kept;
    const large = Array.from({ length: limits.rbacAnswersKept / 2 }, (_, i) => `n${i}`);
    const other = new Grants(() => compileRole([rule('get', 'secrets', { names: ['a', ...large] })]), budget);
    other.add(binding('y'));
    for (let i = 0; i < 3; i++) assert.equal(ask(other, 'secrets')?.name, 'y');
    assert.equal(budget.kept, before);
  });

  test('long requests are decided but not cached', () => {
    const { budget, grants, ask } = make();
    assert.equal(ask(grants, 'x'.repeat(limits.rbacQuestionLengthKept + 1)), undefined);
    assert.equal(budget.kept, 0);
    ask(grants, 'x'.repeat(limits.rbacQuestionLengthKept));
    assert.equal(budget.kept, 1);
  });
});
