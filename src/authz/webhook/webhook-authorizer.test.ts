import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { LogFields } from '../../base/log-lines.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { CelProgram } from '../../cel/cel.ts';
import { boolType } from '../../cel/type.ts';
import { authorizationMetrics } from '../authorization-metrics.ts';
import type { Decision } from '../authorizer.ts';
import { makeUser, readQuestion } from '../rbac/rbac-objects-fixture.ts';
import { MatchConditions } from './match-conditions.ts';
import { answer, connectionError, response, type Script, ScriptedWebhook, settle } from './scripted-webhook-fixture.ts';
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from './webhook-authorizer.ts';

const jane = makeUser('jane', 'dev');
const pods = readQuestion('get pods team x');
const steady: Random = { uuid: () => '', bytes: (count) => new Uint8Array(count) };

interface World {
  readonly clock: ManualClock;
  readonly webhook: ScriptedWebhook;
  readonly authorizer: WebhookAuthorizer;
  readonly metrics: Metrics;
  readonly logged: string[];
}

const worlds: World[] = [];
afterEach(() => {
  for (const { clock, authorizer } of worlds.splice(0)) {
    authorizer.close();
    assert.equal(clock.pending, 0, 'no timer is left');
  }
});

function open(script: (body: string, call: number) => Script, options: Partial<WebhookAuthorizerOptions> = {}): World {
  const clock = new ManualClock();
  const webhook = new ScriptedWebhook(script);
  const metrics = new Metrics();
  const logged: string[] = [];
  const log = (message: string, { problem, cause }: LogFields = {}): void => {
    logged.push([message, problem, cause].filter((text) => text !== undefined).join(': '));
  };
  const logger: Logger = { ...silentLogger, error: log, info: log };
  const authorizer = new WebhookAuthorizer({
    name: 'hook',
    send: webhook.send,
    version: 'v1',
    group: 'authorization.orch.io',
    timeoutMs: 3_000,
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    failurePolicy: 'NoOpinion',
    clock,
    random: steady,
    logger,
    metrics: authorizationMetrics(metrics),
    ...options,
  });
  const world = { clock, webhook, authorizer, metrics, logged };
  worlds.push(world);
  return world;
}

/** The value of a series; 0 if it does not exist. */
function series(metrics: Metrics, name: string, labels: string): number {
  const line = metrics
    .render()
    .split('\n')
    .find((each) => each.startsWith(`${name}{${labels}} `));
  return line === undefined ? 0 : Number(line.split(' ').at(-1));
}

/** Advances the clock, with pauses for promises in between, until the decision is available. */
async function decided(clock: ManualClock, decision: Decision | Promise<Decision>, stepMs = 250): Promise<Decision> {
  let result: Decision | undefined;
  Promise.resolve(decision).then((late) => {
    result = late;
  });
  for (let step = 0; step < 1_000 && !result; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!result) clock.advance(stepMs);
  }
  assert.ok(result, 'decided at last');
  return result;
}

const failure = (problem: string, verdict: Decision['verdict'] = 'noOpinion'): Decision => ({
  verdict,
  reason: '',
  evaluationError: `authorization webhook "hook": ${problem}`,
});

describe('the response of a webhook', () => {
  const good: readonly (readonly [name: string, script: Script, expected: Decision])[] = [
    ['allows', answer({ allowed: true, reason: 'friend' }), { verdict: 'allow', reason: 'friend' }],
    ['has no opinion', answer({ allowed: false, reason: 'stranger' }), { verdict: 'noOpinion', reason: 'stranger' }],
    ['denies', answer({ allowed: false, denied: true, reason: 'foe' }), { verdict: 'deny', reason: 'foe' }],
    ['denies without `allowed`', answer({ denied: true }), { verdict: 'deny', reason: '' }],
    ['is created', { ...answer({ allowed: true }), status: 201 }, { verdict: 'allow', reason: '' }],
    ['has no status', answer(undefined), { verdict: 'noOpinion', reason: '' }],
    ['has nulls', answer({ allowed: true, reason: null }), { verdict: 'allow', reason: '' }],
    ['has other fields', answer({ allowed: true, x: [1], auditAnnotations: {} }), { verdict: 'allow', reason: '' }],
    ['has neither kind nor version', response({ status: { allowed: true } }), { verdict: 'allow', reason: '' }],
    [
      'has an evaluation error',
      answer({ allowed: true, evaluationError: 'no cache' }),
      { verdict: 'allow', reason: '', evaluationError: 'no cache' },
    ],
    [
      'contradicts itself',
      answer({ allowed: true, denied: true, reason: 'both' }),
      {
        verdict: 'deny',
        reason: 'both',
        evaluationError: 'webhook subject access review returned both allow and deny response',
      },
    ],
    [
      'has a reason that is too long',
      answer({ allowed: true, reason: 'x'.repeat(10_000) }),
      { verdict: 'allow', reason: 'x'.repeat(limits.authorizationReasonLengthMax) },
    ],
  ];
  for (const [name, script, expected] of good) {
    it(name, async () => {
      const { authorizer, metrics } = open(() => script);
      assert.deepEqual(await authorizer.authorize(pods, jane), expected);
      const labels = 'name="hook",result="success"';
      assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_total', labels), 1);
      assert.equal(series(metrics, 'apiserver_authorization_webhook_duration_seconds_count', labels), 1);
    });
  }

  const review = (fields: object): Script =>
    response({
      apiVersion: 'authorization.orch.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: true },
      ...fields,
    });
  const bad: readonly (readonly [name: string, script: Script, problem: RegExp])[] = [
    ['is no JSON', response('<html>allowed</html>'), /its answer cannot be used: /],
    ['is empty', response(''), /its answer cannot be used: /],
    ['is null', response('null'), /no object/],
    ['is a list', response([]), /no object/],
    ['is of another kind', review({ kind: 'SelfSubjectAccessReview' }), /kind: expected SubjectAccessReview/],
    [
      'is of another version',
      review({ apiVersion: 'authorization.orch.io/v1beta1' }),
      /expected authorization.orch.io\/v1$/,
    ],
    ['is of another group', review({ apiVersion: 'authorization.k8s.io/v1' }), /expected authorization.orch.io\/v1$/],
    ['has a kind that is not a string', review({ kind: 1 }), /kind: expected/],
    ['has a status that is not an object', review({ status: true }), /status is no object/],
    ['has a status that is null', review({ status: null }), /status is no object/],
    ['allows by text', review({ status: { allowed: 'true' } }), /status.allowed: expected boolean/],
    ['allows by number', review({ status: { allowed: 1 } }), /status.allowed: expected boolean/],
    [
      'has a reason that is not a string',
      review({ status: { allowed: true, reason: {} } }),
      /status.reason: expected string/,
    ],
    ['says two things', response('{"status":{"allowed":false,"allowed":true}}'), /twice/],
    ['is a redirect', response('', 302), /status 302/],
    ['is a permanent redirect with a review', { ...answer({ allowed: true }), status: 308 }, /status 308/],
    ['is refused', { ...answer({ allowed: true }), status: 403 }, /status 403/],
    ['is not found', response({}, 404), /status 404/],
    ['is not implemented', response({}, 501), /status 501/],
    ['cannot be reached', connectionError('ECONNREFUSED'), /the request to it failed$/],
    ['is not trusted', connectionError('DEPTH_ZERO_SELF_SIGNED_CERT'), /the request to it failed$/],
  ];
  for (const [name, script, problem] of bad) {
    it(`${name}: it counts as a failure without retry, and the failure policy decides`, async () => {
      for (const [failurePolicy, verdict] of [
        ['NoOpinion', 'noOpinion'],
        ['Deny', 'deny'],
      ] as const) {
        const { authorizer, webhook, metrics, logged } = open(() => script, { failurePolicy });
        const decision = await authorizer.authorize(pods, jane);
        assert.equal(decision.verdict, verdict);
        assert.equal(decision.reason, '');
        assert.match(decision.evaluationError ?? '', problem);
        assert.doesNotMatch(decision.evaluationError ?? '', /10\.0\.0\.1/, 'no addresses');
        assert.equal(webhook.bodies.length, 1);
        assert.equal(logged.length, 1);
        const labels = 'name="hook",result="error"';
        assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_total', labels), 1);
        assert.equal(
          series(metrics, 'apiserver_authorization_webhook_evaluations_fail_open_total', labels),
          failurePolicy === 'NoOpinion' ? 1 : 0,
        );
        await authorizer.authorize(pods, jane);
        assert.equal(webhook.bodies.length, 2, 'a failure is not remembered');
        assert.equal(logged.length, 1, 'and logged once');
      }
    });
  }

  it('has the version of the request', async () => {
    const { authorizer, webhook } = open((_body, call) => answer({ allowed: true }, call === 1 ? 'v1beta1' : 'v1'), {
      version: 'v1beta1',
    });
    assert.equal((await authorizer.authorize(pods, jane)).verdict, 'allow');
    assert.match(webhook.bodies[0] ?? '', /"apiVersion":"authorization\.orch\.io\/v1beta1".*"group":\["dev"\]/);
    assert.equal((await authorizer.authorize(readQuestion('get /x'), jane)).verdict, 'noOpinion');
  });

  it('that fails is logged at intervals, and so is the recovery', async () => {
    const { authorizer, clock, webhook, logged } = open(() => connectionError('ECONNREFUSED'));
    const ask = async (): Promise<void> => {
      await authorizer.authorize(pods, jane);
    };
    const fails = 'an authorization webhook fails: the request to it failed: ECONNREFUSED at 10.0.0.1:443';
    const again = 'an authorization webhook answers again';
    await ask();
    clock.advance(9_999);
    await ask();
    assert.deepEqual(logged, [fails]);
    clock.advance(1);
    await ask();
    assert.deepEqual(logged, [fails, fails]);
    webhook.script = () => answer({ allowed: false });
    await ask();
    clock.advance(30_000);
    await ask();
    assert.deepEqual(logged, [fails, fails, again]);
    clock.advance(30_000);
    webhook.script = () => response('', 404);
    await ask();
    assert.deepEqual(logged, [fails, fails, again, 'an authorization webhook fails: it answered with status 404']);
  });
});

describe('a webhook that is slow', () => {
  it('is aborted after the timeout', async () => {
    const { authorizer, clock, webhook, metrics } = open(() => 'silence');
    const decision = authorizer.authorize(pods, jane);
    await settle();
    clock.advance(2_999);
    assert.equal(webhook.signals[0]?.aborted, false);
    clock.advance(1);
    assert.equal(webhook.signals[0]?.aborted, true);
    assert.deepEqual(await decision, failure('it did not answer in time'));
    assert.equal(webhook.bodies.length, 1, 'who is slow is not asked again');
    const labels = 'name="hook",result="timeout"';
    assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_total', labels), 1);
    assert.equal(series(metrics, 'apiserver_authorization_webhook_duration_seconds_sum', labels), 3);
    assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_fail_open_total', labels), 1);
  });

  it('denies under Deny', async () => {
    const { authorizer, clock } = open(() => 'silence', { failurePolicy: 'Deny' });
    assert.deepEqual(
      await decided(clock, authorizer.authorize(pods, jane)),
      failure('it did not answer in time', 'deny'),
    );
  });

  it('counts as slow if its connection reports a timeout', async () => {
    const { authorizer, webhook, metrics } = open(() => connectionError('ETIMEDOUT'));
    assert.deepEqual(await authorizer.authorize(pods, jane), failure('it did not answer in time'));
    assert.equal(webhook.bodies.length, 1);
    const labels = 'name="hook",result="timeout"';
    assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_total', labels), 1);
  });

  it('may respond late without effect', async () => {
    const late = Promise.withResolvers<ReturnType<typeof answer>>();
    const { authorizer, clock, webhook } = open(() => late.promise);
    assert.equal((await decided(clock, authorizer.authorize(pods, jane))).verdict, 'noOpinion');
    late.resolve(answer({ allowed: true }));
    await settle();
    webhook.script = () => answer({ allowed: false });
    assert.equal((await authorizer.authorize(pods, jane)).verdict, 'noOpinion', 'and nothing was remembered');
    assert.equal(webhook.bodies.length, 2);
  });
});

describe('a webhook with a temporary failure', () => {
  const passing: readonly (readonly [name: string, script: Script])[] = [
    ['429', response('', 429)],
    ['500', response('', 500)],
    ['504', response('', 504)],
    ['Retry-After', { ...response('', 503), retryAfterSeconds: 1 }],
    ['a connection that broke', connectionError('ECONNRESET')],
  ];
  for (const [name, script] of passing) {
    it(`is retried after ${name}`, async () => {
      const { authorizer, clock, webhook } = open((_body, call) => (call < 3 ? script : answer({ allowed: true })));
      assert.equal((await decided(clock, authorizer.authorize(pods, jane))).verdict, 'allow');
      assert.equal(webhook.bodies.length, 3);
    });
  }

  it('is not retried after 503 without Retry-After', async () => {
    const { authorizer, webhook } = open(() => response('', 503));
    assert.equal((await authorizer.authorize(pods, jane)).verdict, 'noOpinion');
    assert.equal(webhook.bodies.length, 1);
  });

  it('is called five times, with pauses that grow by half', async () => {
    const { authorizer, clock, webhook, metrics } = open(() => response('', 500));
    const asked: number[] = [];
    webhook.script = () => {
      asked.push(clock.monotonic());
      return response('', 500);
    };
    assert.deepEqual(
      await decided(clock, authorizer.authorize(pods, jane), 125),
      failure('it answered with status 500'),
    );
    assert.deepEqual(asked, [0, 500, 1_250, 2_375, 4_125], 'steps of 125 ms: the last is due at 4062.5');
    const labels = 'name="hook",result="error"';
    assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_total', labels), 5);
    assert.equal(series(metrics, 'apiserver_authorization_webhook_evaluations_fail_open_total', labels), 1);
  });

  it('waits up to a fifth longer, at random', async () => {
    const random: Random = { uuid: () => '', bytes: (count) => new Uint8Array(count).fill(128) };
    const { authorizer, clock, webhook } = open((_body, call) => (call === 1 ? response('', 500) : answer({})), {
      random,
    });
    const decision = authorizer.authorize(pods, jane);
    await settle();
    clock.advance(549);
    await settle();
    assert.equal(webhook.bodies.length, 1);
    clock.advance(1);
    await decision;
    assert.equal(webhook.bodies.length, 2);
  });

  it('is not retried past the request timeout', async () => {
    const { authorizer, clock, webhook } = open(() => 'silence', { timeoutMs: 100_000 });
    webhook.script = () =>
      new Promise((resolve) => {
        clock.after(35_000, () => resolve(response('', 500)));
      });
    await decided(clock, authorizer.authorize(pods, jane));
    assert.equal(webhook.bodies.length, 2);
  });
});

describe('webhook decisions are cached', () => {
  it('for authorizedTTL if allowed, and returned synchronously', async () => {
    const { authorizer, clock, webhook } = open(() => answer({ allowed: true, reason: 'friend' }));
    await authorizer.authorize(pods, jane);
    clock.advance(299_999);
    assert.deepEqual(authorizer.authorize(pods, jane), { verdict: 'allow', reason: 'friend' });
    clock.advance(1);
    await authorizer.authorize(pods, jane);
    assert.equal(webhook.bodies.length, 2);
  });

  for (const [name, status] of [
    ['no opinion', { allowed: false }],
    ['a denial', { denied: true }],
    ['a contradiction', { allowed: true, denied: true }],
  ] as const) {
    it(`${name}, for unauthorizedTTL`, async () => {
      const { authorizer, clock, webhook } = open(() => answer(status));
      const decision = await authorizer.authorize(pods, jane);
      clock.advance(29_999);
      assert.deepEqual(authorizer.authorize(pods, jane), decision);
      clock.advance(1);
      await authorizer.authorize(pods, jane);
      assert.equal(webhook.bodies.length, 2);
    });
  }

  it('not at all if the TTL is zero', async () => {
    const { authorizer, webhook } = open((_body, call) => answer({ allowed: call % 2 === 1 }), {
      authorizedTtlMs: 0,
      unauthorizedTtlMs: 0,
    });
    for (const verdict of ['allow', 'noOpinion', 'allow']) {
      assert.equal((await authorizer.authorize(pods, jane)).verdict, verdict);
    }
    assert.equal(webhook.bodies.length, 3);
  });

  it('by all attributes of the request', async () => {
    const { authorizer, webhook } = open((body) => answer({ allowed: true, reason: body.slice(-40) }));
    const questions = [
      [pods, jane],
      [readQuestion('get pods team y'), jane],
      [readQuestion('get pods other x'), jane],
      [readQuestion('list pods team x'), jane],
      [readQuestion('get pods/log team x'), jane],
      [readQuestion('get pods@apps team x'), jane],
      [readQuestion('get secrets team x'), jane],
      [readQuestion('get /pods'), jane],
      [{ ...pods, version: 'v2' }, jane],
      [{ ...pods, labelSelector: [{ operator: 'exists', key: 'a' }] }, jane],
      [{ ...pods, fieldSelector: [{ operator: 'in', key: 'a', values: new Set(['b']) }] }, jane],
      [pods, makeUser('jane')],
      [pods, makeUser('jane', 'dev', 'ops')],
      [pods, makeUser('june', 'dev')],
      [pods, { ...jane, uid: '1' }],
      [pods, { ...jane, extra: { a: ['1'] } }],
      [pods, { ...jane, extra: { a: ['2'] } }],
    ] as const;
    for (const [question, user] of questions) await authorizer.authorize(question, user);
    assert.equal(webhook.bodies.length, questions.length);
    for (const [question, user] of questions) assert.ok(!(authorizer.authorize(question, user) instanceof Promise));
  });

  it('not if the request is too long', async () => {
    const { authorizer, webhook } = open(() => answer({ allowed: true }));
    const path = (length: number) => readQuestion(`get /${'x'.repeat(length - 'get/'.length)}`);
    const longest = path(limits.authorizationQuestionLengthKept - 1);
    await authorizer.authorize(longest, jane);
    await authorizer.authorize(longest, jane);
    assert.equal(webhook.bodies.length, 1);
    const tooLong = path(limits.authorizationQuestionLengthKept);
    await authorizer.authorize(tooLong, jane);
    await authorizer.authorize(tooLong, jane);
    assert.equal(webhook.bodies.length, 3);
    const name = 'n'.repeat(limits.authorizationQuestionLengthKept);
    await authorizer.authorize({ ...readQuestion('get pods'), name } as typeof pods, jane);
    await authorizer.authorize({ ...readQuestion('get pods'), name } as typeof pods, jane);
    assert.equal(webhook.bodies.length, 5);
  });

  it('and concurrent equal requests share one call', async () => {
    const gate = Promise.withResolvers<ReturnType<typeof answer>>();
    const { authorizer, webhook } = open(() => gate.promise);
    const decisions = [authorizer.authorize(pods, jane), authorizer.authorize(pods, { ...jane })];
    const other = authorizer.authorize(readQuestion('get /x'), jane);
    gate.resolve(answer({ allowed: true }));
    assert.deepEqual(
      (await Promise.all([...decisions, other])).map(({ verdict }) => verdict),
      ['allow', 'allow', 'allow'],
    );
    assert.equal(webhook.bodies.length, 2);
  });
});

describe('match conditions', () => {
  const condition = (evaluate: CelProgram['evaluate'], source = 'x'): CelProgram => ({
    source,
    type: boolType,
    evaluate,
    selects: () => false,
    selectsField: () => false,
  });
  const isPath = ({ request }: Parameters<CelProgram['evaluate']>[0]): boolean =>
    Object.hasOwn(request as object, 'nonResourceAttributes');
  const yes = condition(() => true);
  const no = condition(() => false);
  const broken = condition(() => {
    throw new Error('no such key: a');
  });
  const odd = condition(() => 'true');
  const cases: readonly (readonly [name: string, CelProgram[], asked: boolean, failed: RegExp | undefined])[] = [
    ['none', [], true, undefined],
    ['all true', [yes, yes], true, undefined],
    ['one false', [yes, no, yes], false, undefined],
    ['false after an error', [broken, no], false, undefined],
    ['an error after false', [no, broken], false, undefined],
    ['an error', [yes, broken, yes], false, /match condition 1 failed: no such key: a$/],
    ['two errors', [broken, broken], false, /condition 0 failed.*condition 1 failed/],
    ['neither true nor false', [odd], false, /match condition 0 is neither true nor false/],
  ];
  for (const [name, programs, isAsked, failed] of cases) {
    for (const failurePolicy of ['NoOpinion', 'Deny'] as const) {
      it(`${name}, ${failurePolicy}`, async () => {
        const conditions = new MatchConditions(programs);
        const { authorizer, webhook, metrics } = open(() => answer({ allowed: true }), { conditions, failurePolicy });
        const decision = await authorizer.authorize(pods, jane);
        assert.equal(webhook.bodies.length, isAsked ? 1 : 0);
        const unasked = failed && failurePolicy === 'Deny' ? 'deny' : 'noOpinion';
        assert.equal(decision.verdict, isAsked ? 'allow' : unasked);
        if (failed) assert.match(decision.evaluationError ?? '', failed);
        else assert.equal(decision.evaluationError, undefined);
        const labels = 'type="Webhook",name="hook"';
        const prefix = 'apiserver_authorization_match_condition';
        assert.equal(series(metrics, `${prefix}_evaluation_seconds_count`, labels), 1);
        assert.equal(series(metrics, `${prefix}_evaluation_errors_total`, labels), failed ? 1 : 0);
        assert.equal(series(metrics, `${prefix}_exclusions_total`, labels), isAsked || failed ? 0 : 1);
      });
    }
  }

  it('that fail are logged at intervals, separately from the webhook', async () => {
    const { authorizer, clock, logged } = open(() => connectionError('ECONNREFUSED'), {
      conditions: new MatchConditions([condition((request) => (isPath(request) ? broken.evaluate(request) : true))]),
    });
    await decided(clock, authorizer.authorize(pods, jane));
    for (let times = 0; times < 3; times++) authorizer.authorize(readQuestion('get /x'), jane);
    const fails = 'match conditions of an authorization webhook fail: match condition 0 failed: no such key: a';
    assert.deepEqual(logged.slice(1), [fails]);
    clock.advance(limits.authorizationFailureReportMs);
    authorizer.authorize(readQuestion('get /x'), jane);
    assert.deepEqual(logged.slice(1), [fails, fails]);
  });

  it('are evaluated before the cache is consulted', async () => {
    let holds = true;
    const conditions = new MatchConditions([condition(() => holds)]);
    const { authorizer } = open(() => answer({ allowed: true }), { conditions });
    assert.equal((await authorizer.authorize(pods, jane)).verdict, 'allow');
    holds = false;
    assert.equal((await authorizer.authorize(pods, jane)).verdict, 'noOpinion');
  });
});

describe('a closed webhook', () => {
  it('fails, whether during a call, between retries, or before the first call', async () => {
    const asked = open(() => 'silence', { failurePolicy: 'Deny' });
    const first = asked.authorizer.authorize(pods, jane);
    await settle();
    asked.authorizer.close();
    assert.equal((await first).verdict, 'deny');
    assert.equal(asked.webhook.signals[0]?.aborted, true);
    const pausing = open(() => response('', 500));
    const second = pausing.authorizer.authorize(pods, jane);
    await settle();
    pausing.authorizer.close();
    assert.equal((await second).verdict, 'noOpinion');
    assert.equal(pausing.webhook.bodies.length, 1);
    assert.equal((await pausing.authorizer.authorize(pods, jane)).verdict, 'noOpinion');
  });
});
