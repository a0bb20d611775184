import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expressionLimits } from '../../base/expression-limits.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { CelBudget } from '../../cel/budget.ts';
import {
  type AccessCheck,
  type AccessDecision,
  type AccountName,
  type Decisions,
  PendingDecision,
} from '../../cel/library/authorizer.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { ExpressionEvaluation, type ExpressionInput, type ExpressionResult } from './evaluate-expressions.ts';
import { ExpressionCompiler, type ExpressionRole } from './expressions.ts';

const object: ApiObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', labels: { t: 'x' } },
  data: { a: '1', b: '2' },
};

const namespaceObject: ApiObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: 'default',
    uid: 'u',
    labels: { env: 'test' },
    creationTimestamp: '2026-01-01T00:00:00Z',
    managedFields: [],
  },
  spec: { finalizers: ['f'] },
  status: { phase: 'Active', conditions: [{ type: 'A', status: 'True', lastTransitionTime: '2026-01-02T00:00:00Z' }] },
};

const request = {
  kind: { group: '', version: 'v1', kind: 'ConfigMap' },
  resource: { group: '', version: 'v1', resource: 'configmaps' },
  requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
  requestResource: { group: '', version: 'v1', resource: 'configmaps' },
  name: 'one',
  namespace: 'default',
  operation: 'CREATE',
  userInfo: { username: 'ann', groups: ['devs'], extra: { team: ['blue'] } },
  dryRun: false,
  options: { kind: 'CreateOptions', fieldManager: 'mgr' },
};

const allowed: AccessDecision = { allowed: true, reason: 'because', error: '' };

/** Decides, and keeps what was asked. */
class Recorder implements Decisions {
  readonly asked: (readonly [AccessCheck, AccountName | undefined])[] = [];

  decide(check: AccessCheck, account: AccountName | undefined): AccessDecision {
    this.asked.push([check, account]);
    if (check.verb === 'fail') return { allowed: false, reason: '', error: 'no answer' };
    return check.type === 'path' || check.resource !== 'secrets'
      ? allowed
      : { allowed: false, reason: 'no', error: '' };
  }
}

const input = (more: Partial<ExpressionInput> = {}): ExpressionInput => ({
  request,
  object,
  oldObject: undefined,
  namespaceObject,
  decisions: new Recorder(),
  requestResource: { group: '', resource: 'configmaps', subresource: '', namespace: 'default', name: 'one' },
  ...more,
});

interface Setting {
  readonly more?: Partial<ExpressionInput>;
  readonly budget?: CelBudget;
  readonly variables?: Readonly<Record<string, string>>;
  readonly role?: ExpressionRole;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

/** Turns have no end: how long the test takes does not matter. */
const stoppedClock = { monotonic: () => 0 };

function evaluationOf({ more, budget = new CelBudget(), variables = {}, clock = stoppedClock }: Setting) {
  const compiler = new ExpressionCompiler({ hasParams: true, hasVariables: true });
  for (const [name, source] of Object.entries(variables)) allAtOnce(compiler.addVariable(name, source));
  const evaluation = new ExpressionEvaluation(input(more), {
    variables: compiler.variables,
    budget,
    clock,
  });
  return (source: string, role: ExpressionRole = 'variable') =>
    evaluation.evaluate(allAtOnce(compiler.compile(source, role)));
}

const evaluate = (source: string, setting: Setting = {}): ExpressionResult | Promise<ExpressionResult> =>
  evaluationOf(setting)(source, setting.role);

/** The value, or the message of a failure. */
const shown = (result: ExpressionResult): unknown => (result.type === 'value' ? result.value : result.message);

function atOnce(result: ExpressionResult | Promise<ExpressionResult>): unknown {
  assert.ok(!(result instanceof Promise), 'the evaluation takes long');
  return shown(result);
}

/** An expression that costs a few units for each of 2^n turns. */
const costly = (n: number): string => `${'[0, 1].all(x, '.repeat(n)}true${')'.repeat(n)}`;

describe('values of expressions', () => {
  const rows: readonly (readonly [source: string, value: unknown])[] = [
    ["object.data.a == '1' && object.kind == 'ConfigMap'", true],
    ['oldObject == null', true],
    ['has(object.data.zz)', false],
    ["object.metadata.?labels.?absent.orValue('none')", 'none'],
    ['object.data.all(k, object.data[k].size() < 3)', true],
    ["request.options.fieldManager == 'mgr' && !request.dryRun", true],
    ["has(request.subResource) && request.subResource != ''", false],
    ["request.userInfo.extra['team'].exists(t, t == 'blue')", true],
    ['namespaceObject.metadata.labels.env', 'test'],
    ['namespaceObject.metadata.UID', 'u'],
    ["namespaceObject.metadata.creationTimestamp == timestamp('2026-01-01T00:00:00Z')", true],
    ['namespaceObject.status.conditions[0].lastTransitionTime > namespaceObject.metadata.creationTimestamp', true],
    ['has(namespaceObject.metadata.deletionTimestamp)', false],
    ["'f' in namespaceObject.spec.finalizers && namespaceObject.status.phase == 'Active'", true],
    ['params == null', true],
    ['object.data.zz', "expression 'object.data.zz' resulted in error: no such key: zz"],
    ['1 / 0', "expression '1 / 0' resulted in error: division by zero"],
    [
      '1 +',
      'compilation error: compilation failed: ERROR: <input>:1:4: Syntax error: unexpected the end\n | 1 +\n | ...^',
    ],
  ];
  for (const [source, value] of rows) it(source, () => assert.equal(atOnce(evaluate(source)), value));

  it('what is absent is null', () => {
    const more = { object: undefined, namespaceObject: undefined };
    assert.equal(atOnce(evaluate('object == null && namespaceObject == null', { more })), true);
  });
});

describe('authorizer', () => {
  const resource = {
    type: 'resource',
    group: '',
    resource: 'pods',
    subresource: '',
    namespace: '',
    name: '',
    fieldSelector: '',
    labelSelector: '',
  };
  const requested = { ...resource, resource: 'configmaps', namespace: 'default', name: 'one' };
  const rows: readonly (readonly [source: string, value: unknown, asked: readonly unknown[]])[] = [
    ["authorizer.group('').resource('pods').check('get').allowed()", true, [[{ ...resource, verb: 'get' }, undefined]]],
    [
      "authorizer.group('').resource('secrets').check('get').reason()",
      'no',
      [[{ ...resource, resource: 'secrets', verb: 'get' }, undefined]],
    ],
    [
      "authorizer.group('apps').resource('pods').subresource('log').namespace('n').name('m').check('get').allowed()",
      true,
      [[{ ...resource, group: 'apps', subresource: 'log', namespace: 'n', name: 'm', verb: 'get' }, undefined]],
    ],
    [
      "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c in (d').check('list').allowed()",
      true,
      [[{ ...resource, fieldSelector: 'a=b', labelSelector: 'c in (d', verb: 'list' }, undefined]],
    ],
    ["authorizer.requestResource.check('delete').allowed()", true, [[{ ...requested, verb: 'delete' }, undefined]]],
    [
      "authorizer.requestResource.subresource('status').check('get').allowed()",
      true,
      [[{ ...requested, subresource: 'status', verb: 'get' }, undefined]],
    ],
    [
      "authorizer.path('/healthz').check('GET').allowed()",
      true,
      [[{ type: 'path', path: '/healthz', verb: 'GET' }, undefined]],
    ],
    [
      "authorizer.serviceAccount('n', 'a.b').group('').resource('pods').check('get').allowed()",
      true,
      [
        [
          { ...resource, verb: 'get' },
          { namespace: 'n', name: 'a.b' },
        ],
      ],
    ],
    [
      "authorizer.group('').resource('pods').check('fail').errored()",
      true,
      [[{ ...resource, verb: 'fail' }, undefined]],
    ],
    [
      "authorizer.group('').resource('pods').check('fail').error()",
      'no answer',
      [[{ ...resource, verb: 'fail' }, undefined]],
    ],
    ["authorizer.requestResource.check('get').error()", '', [[{ ...requested, verb: 'get' }, undefined]]],
    ["authorizer.path(' ')", 'path must not be empty', []],
    ["authorizer.group('').resource('')", 'resource must not be empty', []],
    ["authorizer.serviceAccount('n.m', 'a')", 'Invalid service account namespace', []],
    ["authorizer.serviceAccount('n', 'A')", 'Invalid service account name', []],
  ];
  for (const [source, value, asked] of rows) {
    it(source, () => {
      const decisions = new Recorder();
      const result = atOnce(evaluate(source, { more: { decisions } }));
      assert.equal(result, asked.length === 0 ? `expression '${source}' resulted in error: ${value}` : value);
      assert.deepEqual(decisions.asked, asked);
    });
  }

  it('a decision that is still to be made is waited for', async () => {
    const known = new Map<string, AccessDecision>();
    let questions = 0;
    const decisions: Decisions = {
      decide(check) {
        const decision = known.get(check.verb);
        if (decision) return decision;
        questions++;
        throw new PendingDecision(Promise.resolve().then(() => known.set(check.verb, allowed)));
      },
    };
    const evaluation = evaluationOf({
      more: { decisions },
      variables: { may: "authorizer.requestResource.check('a').allowed()" },
    });
    assert.deepEqual(await evaluation("variables.may && authorizer.requestResource.check('b').allowed()"), {
      type: 'value',
      value: true,
    });
    assert.deepEqual(await evaluation(`${costly(14)} && authorizer.requestResource.check('c').allowed()`), {
      type: 'value',
      value: true,
    });
    assert.equal(questions, 3);
  });

  it('an authorizer that fails is a failure of the evaluation', async () => {
    const decisions: Decisions = {
      decide() {
        throw new PendingDecision(Promise.reject(new Error('aborted')));
      },
    };
    await assert.rejects(
      async () => evaluate("authorizer.requestResource.check('a').allowed()", { more: { decisions } }),
      /aborted/,
    );
  });
});

describe('variables', () => {
  it('are evaluated when they are needed, and once', () => {
    const decisions = new Recorder();
    const variables = {
      a: "authorizer.requestResource.check('a').allowed()",
      b: "authorizer.requestResource.check('b').allowed()",
      both: 'variables.a || variables.b',
    };
    const evaluation = evaluationOf({ more: { decisions }, variables });
    assert.equal(atOnce(evaluation('variables.both')), true);
    assert.equal(atOnce(evaluation('variables.both && variables.a && has(variables.a)')), true);
    assert.deepEqual(
      decisions.asked.map(([{ verb }]) => verb),
      ['a'],
    );
  });

  it('that fail are faults of what uses them', () => {
    const evaluation = evaluationOf({ variables: { missing: 'object.zz', broken: '1 +' } });
    assert.equal(
      atOnce(evaluation('variables.missing')),
      `expression 'variables.missing' resulted in error: composited variable "missing" fails to evaluate: no such key: zz`,
    );
    assert.equal(atOnce(evaluation('variables.missing || true')), true);
    assert.match(
      String(atOnce(evaluation('variables.broken'))),
      /composited variable "broken" fails to compile: compilation failed: ERROR/,
    );
  });

  it('that need themselves fail', () => {
    const evaluation = evaluationOf({ variables: { a: 'dyn(variables).b', b: 'dyn(variables).a' } });
    assert.match(String(atOnce(evaluation('variables.a'))), /needs itself/);
  });

  it('that take long are evaluated in steps, however they are named', async () => {
    const variables = {
      long: costly(14),
      longer: `variables.long && ${costly(14)}`,
      hidden: `dyn(variables).longer && ${costly(13)}`,
    };
    for (const source of ['variables.longer', 'dyn(variables).longer', 'variables.hidden', 'dyn(variables).hidden']) {
      const result = evaluate(source, { variables });
      assert.ok(result instanceof Promise, source);
      assert.equal(shown(await result), true, source);
    }
  });
});

describe('chains of variables', () => {
  const chain = (length: number, first: string, next = (before: string) => `${before} + 1`) =>
    Object.fromEntries(
      Array.from({ length }, (_, index) => [`v${index}`, index === 0 ? first : next(`variables.v${index - 1}`)]),
    );

  it('may be as long as a policy', async () => {
    assert.equal(shown(await evaluate('variables.v1999 == 1999', { variables: chain(2_000, '0') })), true);
    assert.equal(shown(await evaluate('dyn(variables).v1999 == 1999', { variables: chain(2_000, '0') })), true);
  });

  it('wait for decisions, and fail, at their end', async () => {
    const known = new Set<string>();
    const decisions: Decisions = {
      decide({ verb }) {
        if (known.has(verb)) return allowed;
        throw new PendingDecision(Promise.resolve().then(() => known.add(verb)));
      },
    };
    const check = "authorizer.path('/x').check('get').allowed()";
    const variables = chain(100, check, (before) => `${before} && true`);
    assert.equal(shown(await evaluate('variables.v99', { variables, more: { decisions } })), true);
    assert.equal(known.size, 1);
    const fail = chain(100, '1 / int(object.metadata.labels.t.size() - 1)');
    assert.match(String(shown(await evaluate('variables.v99', { variables: fail }))), /division by zero$/);
  });

  it('are evaluated as far as they are needed', async () => {
    const variables = chain(100, '1 / 0');
    assert.equal(shown(await evaluate('true || variables.v99 > 0', { variables })), true);
  });
});

describe('many expressions', () => {
  it('have several turns', async () => {
    let now = 0;
    const evaluation = evaluationOf({ clock: { monotonic: () => now } });
    assert.equal(atOnce(evaluation('object.data.a')), '1');
    now += limits.turnMs;
    const waiting = evaluation('object.data.a');
    assert.ok(waiting instanceof Promise);
    assert.equal(shown(await waiting), '1');
    assert.equal(atOnce(evaluation('object.data.a')), '1');
  });
});

describe('cost', () => {
  const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

  it('published costs of authorization checks', () => {
    const rows: readonly (readonly [source: string, cost: number])[] = [
      ['authorizer', 1],
      ['authorizer.requestResource', 1],
      ["authorizer.group('').resource('pods').check('get').allowed()", 1 + 1 + 1 + 350_000 + 1],
      ["authorizer.path('/x').check('get').errored()", 1 + 1 + 350_000 + 1],
      ["authorizer.requestResource.subresource('s').namespace('n').name('m')", 1 + 1 + 1 + 1],
      ["authorizer.requestResource.labelSelector('a=b,c')", 1 + 10 + 1 + 3 * 50],
    ];
    for (const [source, cost] of rows) {
      const budget = new CelBudget();
      const result = evaluate(source, { budget });
      assert.ok(!(result instanceof Promise) || cost > limits.ruleCostAtOnce);
      if (!(result instanceof Promise)) assert.equal(expressionLimits.celBudget - budget.left, cost, source);
    }
  });

  it('an expression can afford two checks', async () => {
    const check = "authorizer.requestResource.check('get').allowed()";
    const budget = new CelBudget();
    assert.equal(shown(await evaluate(`${check} && ${check}`, { budget })), true);
    assert.equal(expressionLimits.celBudget - budget.left, 2 * (350_000 + 2));
    const source = `${check} && ${check} && ${check}`;
    assert.equal(
      shown(await evaluate(source)),
      `expression '${source}' resulted in error: operation cancelled: actual cost limit exceeded`,
    );
  });

  it('an expression that costs too much fails; variables have limits of their own', async () => {
    const variables = { endless: costly(18), a: costly(15), b: costly(15) };
    const budget = new CelBudget();
    const evaluation = evaluationOf({ variables, budget });
    assert.match(
      String(shown(await evaluation('variables.endless'))),
      /composited variable "endless" fails to evaluate: operation cancelled/,
    );
    assert.equal(shown(await evaluation(`variables.a && variables.b && ${costly(15)}`)), true);
    const before = budget.left;
    assert.equal(atOnce(evaluation('variables.a && variables.b')), true);
    assert.equal(before - budget.left, 4, 'variables are paid for once');
  });

  it('nothing is evaluated when the budget is used up', async () => {
    const budget = new CelBudget(limits.celCostMax);
    const evaluation = evaluationOf({ budget, variables: { a: costly(15) } });
    assert.equal(shown(await evaluation(costly(15))), true);
    assert.deepEqual(await evaluation(`variables.a && ${costly(15)}`), { type: 'outOfBudget', message: outOfBudget });
    assert.equal(atOnce(evaluation('true || false')), outOfBudget);
  });

  it('a small budget', () => {
    const budget = new CelBudget(3);
    const evaluation = evaluationOf({ budget });
    assert.equal(atOnce(evaluation('object.data.a')), '1');
    assert.equal(atOnce(evaluation('object')), outOfBudget);
  });
});
