import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { CelValue } from '../../cel/value.ts';
import { ExpressionEvaluation } from './evaluate-expressions.ts';
import { ExpressionCompiler, type ExpressionRole } from './expressions.ts';
import { configurationOf, patchOf } from './mutation-results.ts';

const object = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'one', labels: { a: 'b' } }, spec: { count: 2 } };

/** The value of an expression; the message of its error. */
function evaluated(source: string, role: ExpressionRole, variables: Readonly<Record<string, string>> = {}): CelValue {
  const compiler = new ExpressionCompiler({ hasVariables: true });
  for (const [name, expression] of Object.entries(variables)) allAtOnce(compiler.addVariable(name, expression));
  const compiled = allAtOnce(compiler.compile(source, role));
  const evaluation = new ExpressionEvaluation(
    {
      request: { operation: 'CREATE' },
      object,
      oldObject: undefined,
      decisions: { decide: () => ({ allowed: true, reason: '', error: '' }) },
      requestResource: { group: '', resource: 'anys', subresource: '', namespace: '', name: 'one' },
    },
    { variables: compiler.variables, budget: new CelBudget(), clock: { monotonic: () => 0 } },
  );
  const result = evaluation.evaluate(compiled);
  assert.ok(!(result instanceof Promise));
  if (result.type === 'value') return result.value;
  throw new Error(result.message);
}

describe('apply configurations', () => {
  const rows: readonly (readonly [source: string, data: unknown])[] = [
    ['Object{}', {}],
    [
      'Object{spec: Object.spec{count: 3, on: true, text: "x", ratio: 1.5, none: null}}',
      { spec: { count: 3, on: true, text: 'x', ratio: 1.5, none: null } },
    ],
    ['Object{metadata: Object.metadata{labels: {"a.b/c": "d"}}}', { metadata: { labels: { 'a.b/c': 'd' } } }],
    [
      'Object{spec: Object.spec{containers: [Object.spec.containers{name: "a"}, Object.spec.containers{name: "b"}]}}',
      { spec: { containers: [{ name: 'a' }, { name: 'b' }] } },
    ],
    [
      'Object{spec: Object.spec{count: object.spec.count + 1, all: object.spec}}',
      { spec: { count: 3, all: { count: 2 } } },
    ],
    ['Object{?spec: optional.none(), ?kind: object.?kind}', { kind: 'Any' }],
    ['object.spec.count > 1 ? Object{a: "x"} : Object{}', { a: 'x' }],
    [
      'Object{spec: Object.spec{names: ["a", "b"].map(n, Object.spec.names{name: n})}}',
      { spec: { names: [{ name: 'a' }, { name: 'b' }] } },
    ],
    [
      'Object{spec: Object.spec{wait: duration("1h"), at: timestamp("2026-01-01T00:00:00Z"), big: 9007199254740993}}',
      { spec: { wait: '3600s', at: '2026-01-01T00:00:00Z', big: 9007199254740993n } },
    ],
  ];
  for (const [source, data] of rows) {
    it(source, () =>
      assert.deepEqual(configurationOf(evaluated(source, 'applyConfiguration')), { type: 'value', value: data }),
    );
  }

  const mismatch = (found: string, expected: string): string =>
    `type mismatch: unexpected type name "${found}", expected "${expected}", which matches field name path from root Object type`;
  const failures: readonly (readonly [source: string, message: string])[] = [
    ['Object{spec: Object.metadata{}}', mismatch('Object.metadata', 'Object.spec')],
    ['Object{spec: Object.spec{list: [Object.spec.other{}]}}', mismatch('Object.spec.other', 'Object.spec.list')],
    ['Object{spec: {"a": Object.spec.a{}}}', mismatch('Object.spec.a', 'Object.spec')],
    ['Object{spec: {1: "x"}}', 'keys of a map must be strings'],
    ['Object{spec: quantity("1")}', 'a value that JSON has not'],
  ];
  for (const [source, message] of failures) {
    it(source, () =>
      assert.deepEqual(configurationOf(evaluated(source, 'applyConfiguration')), { type: 'failed', message }),
    );
  }
});

describe('JSON patches', () => {
  const rows: readonly (readonly [source: string, data: unknown])[] = [
    ['[JSONPatch{op: "test", path: "/spec/count", value: 2}]', [{ op: 'test', path: '/spec/count', value: 2 }]],
    [
      '[JSONPatch{op: "remove", path: "/x"}, JSONPatch{op: "move", from: "/a", path: "/b"}]',
      [
        { op: 'remove', path: '/x' },
        { op: 'move', from: '/a', path: '/b' },
      ],
    ],
    [
      '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: "x"}]',
      [{ op: 'add', path: '/metadata/labels/a~1b~0c', value: 'x' }],
    ],
    [
      '[JSONPatch{op: "add", path: "/spec/selector", value: Object.spec.selector{matchLabels: {"a": "b"}}}]',
      [{ op: 'add', path: '/spec/selector', value: { matchLabels: { a: 'b' } } }],
    ],
    [
      'object.metadata.labels.map(key, JSONPatch{op: "remove", path: "/metadata/labels/" + key})',
      [{ op: 'remove', path: '/metadata/labels/a' }],
    ],
    ['[JSONPatch{op: "add", path: "/x", value: null}]', [{ op: 'add', path: '/x', value: null }]],
  ];
  for (const [source, data] of rows) {
    it(source, () => assert.deepEqual(patchOf(evaluated(source, 'jsonPatch')), { type: 'value', value: data }));
  }
});

describe('expressions of mutations that do not compile', () => {
  const error = (column: number, problem: string, source: string): string =>
    `ERROR: <input>:1:${column}: ${problem}\n | ${source}\n | ${'.'.repeat(column - 1)}^`;
  const at = (column: number, problem: string, source: string): string =>
    `compilation error: compilation failed: ${error(column, problem, source)}`;
  const rows: readonly (readonly [role: ExpressionRole, source: string, message: (source: string) => string])[] = [
    ['applyConfiguration', '{}', () => 'compilation error: must evaluate to Object but got map(dyn, dyn)'],
    ['applyConfiguration', 'Object.spec{}', () => 'compilation error: must evaluate to Object but got Object.spec'],
    ['jsonPatch', 'Object{}', () => 'compilation error: must evaluate to list(JSONPatch) but got Object'],
    ['jsonPatch', '[]', () => 'compilation error: must evaluate to list(JSONPatch) but got list(dyn)'],
    ['jsonPatch', '[JSONPatch{op: 1}]', (source) => at(16, "expected type 'string' but found 'int'", source)],
    ['jsonPatch', '[JSONPatch{operation: "add"}]', (source) => at(12, "undefined field 'operation'", source)],
    ['jsonPatch', '[Other{}]', (source) => at(7, "undeclared reference to 'Other' (in container '')", source)],
    [
      'condition',
      'Object{} == Object{}',
      (source) =>
        `${at(7, "undeclared reference to 'Object' (in container '')", source)}\n${error(19, "undeclared reference to 'Object' (in container '')", source)}`,
    ],
    [
      'message',
      'jsonpatch.escapeKey("a")',
      (source) =>
        `${at(1, "undeclared reference to 'jsonpatch' (in container '')", source)}\n${error(20, "undeclared reference to 'escapeKey' (in container '')", source)}`,
    ],
    [
      'applyConfiguration',
      'Object{spec: 1',
      (source) => at(15, "Syntax error: unexpected the end, expected '}'", source),
    ],
  ];
  for (const [role, source, message] of rows) {
    it(`${role}: ${source}`, () => assert.throws(() => evaluated(source, role), { message: message(source) }));
  }
});
