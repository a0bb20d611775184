import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { createLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { bareWorld, peerName, TlsFixture } from '../../outbound/tls-fixture.ts';
import { webhookSender } from '../../outbound/webhook-sender.ts';
import { webhookTokenMetrics } from './webhook-metrics.ts';
import { type AskWebhook, type WebhookTokenOptions, webhookTokenAuthenticator } from './webhook-token.ts';

/**
 * The webhook's response to the next call: the status of a TokenReview, an HTTP status, or an error without a response.
 */
type Step = object | number | Error | Delay;

/** An HTTP status with a `Retry-After`. */
class Delay {
  readonly status: number;
  readonly seconds: number;

  constructor(status: number, seconds: number) {
    this.status = status;
    this.seconds = seconds;
  }
}

const reset = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

/** A webhook that takes one step per call and repeats the last one. */
function scripted(steps: readonly Step[], more: Partial<WebhookTokenOptions> = {}) {
  const clock = new ManualClock();
  const metrics = new Metrics();
  const asked: { readonly at: number; readonly body: unknown }[] = [];
  const log: string[] = [];
  const ask: AskWebhook = async (body) => {
    asked.push({ at: clock.monotonic(), body: JSON.parse(body) });
    const step = steps[Math.min(asked.length, steps.length) - 1] ?? {};
    if (step instanceof Error) throw step;
    if (typeof step === 'number') return { status: step, body: Buffer.from(`{"message":"of ${body}"}`) };
    if (step instanceof Delay) return { status: step.status, body: Buffer.alloc(0), retryAfterSeconds: step.seconds };
    return { status: 200, body: Buffer.from(JSON.stringify({ status: step })) };
  };
  const authenticator = webhookTokenAuthenticator({
    ask,
    version: 'v1',
    dialect: orch,
    ownAudiences: ['own'],
    clock,
    random: { uuid: () => '', bytes: (count) => new Uint8Array(count) },
    logger: createLogger({ level: 'debug', format: 'json', clock, write: (line) => log.push(line) }),
    metrics: webhookTokenMetrics(metrics),
    ...more,
  });
  /** Authenticates a token and advances the clock while the authenticator waits for it. */
  const review = async (token = 'the-token', audiences: readonly string[] = ['own']) => {
    let settled = false;
    const answer = Promise.resolve(authenticator.authenticateToken(token, audiences)).finally(() => {
      settled = true;
    });
    answer.catch(() => {});
    await new Promise(setImmediate);
    await until(() => {
      if (!settled) clock.advance(1);
      return settled;
    }, 'the authenticator does not answer');
    return answer;
  };
  return { authenticator, review, asked, log, metrics, clock };
}

const jane = { authenticated: true, user: { username: 'jane' } };

describe('a token webhook', () => {
  it('is called in the configured version and dialect', async () => {
    for (const [version, dialect, apiVersion] of [
      ['v1', orch, 'authentication.orch.io/v1'],
      ['v1beta1', kubernetes, 'authentication.k8s.io/v1beta1'],
    ] as const) {
      const { review, asked } = scripted([jane], { version, dialect });
      assert.deepEqual((await review('t', ['own', 'x']))?.user, {
        username: 'jane',
        uid: '',
        groups: ['system:authenticated'],
        extra: {},
      });
      const spec = { token: 't', audiences: ['own', 'x'] };
      assert.deepEqual(asked[0]?.body, { kind: 'TokenReview', apiVersion, spec });
    }
  });

  for (const { why, asked, answered, expected } of [
    { why: 'asked for none, told none', asked: [], answered: undefined, expected: [] },
    { why: 'asked for none, told some', asked: [], answered: ['x'], expected: [] },
    { why: 'told none: it is for us', asked: ['x', 'own'], answered: undefined, expected: ['own'] },
    { why: 'told none, asked for others', asked: ['x'], answered: [], expected: undefined },
    { why: 'told some of those', asked: ['x', 'own', 'y'], answered: ['y', 'z', 'x'], expected: ['y', 'x'] },
    { why: 'told others', asked: ['x', 'own'], answered: ['z'], expected: undefined },
  ] as const) {
    it(`audiences: ${why}`, async () => {
      const { review } = scripted([{ ...jane, audiences: answered }]);
      assert.deepEqual((await review('t', asked))?.audiences, expected);
    });
  }

  it('may not know a token, or report an error, which never contains the token', async () => {
    assert.equal(await scripted([{}]).review(), undefined);
    assert.equal(await scripted([{ error: 'expired' }]).review('t', ['x']), undefined);
    const { review, log } = scripted([{ error: `the-token has expired ${'x'.repeat(10_000)}` }]);
    await assert.rejects(review(), ({ message }: Error) => {
      assert.match(message, /^the token webhook: \[token\] has expired x+$/);
      return message.length < 1_100;
    });
    assert.deepEqual(log, []);
  });

  it('has a bound on pending reviews, including those waiting for a retry', async () => {
    const { authenticator, asked, clock } = scripted([500]);
    const ask = (at: number) => Promise.resolve(authenticator.authenticateToken(`t-${at}`, [])).catch(String);
    const waiting = Array.from({ length: limits.webhookQuestionsMax }, (_, at) => ask(at));
    await new Promise(setImmediate);
    assert.match(String(await ask(-1)), /too many tokens wait/);
    assert.equal(asked.length, limits.webhookQuestionsMax);
    clock.advance(limits.webhookTokenMsMax);
    for (let turn = 0; turn < 5; turn++) {
      await new Promise(setImmediate);
      clock.advance(limits.webhookTokenMsMax);
    }
    assert.match(String((await Promise.all(waiting))[0]), /answered 500/);
    const before = asked.length;
    void ask(-1);
    assert.equal(asked.length, before + 1, 'then there is room again');
  });

  for (const [step, message] of [
    [400, /answered 400$/],
    [401, /answered 401$/],
    [503, /answered 503$/],
    [302, /answered 302$/],
    [new Error('connect ECONNREFUSED'), /no answer: connect ECONNREFUSED$/],
    [Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), /no answer: refused$/],
    [{ authenticated: 'yes' }, /"authenticated" has the wrong type$/],
    [{ authenticated: true, user: { username: '' } }, /a user without a name$/],
  ] as const) {
    it(`is not asked again: ${message.source}`, async () => {
      const { review, asked, log } = scripted([step, jane]);
      await assert.rejects(review(), message);
      assert.equal(asked.length, 1);
      assert.doesNotMatch(log.join(), /the-token/);
    });
  }

  for (const [name, step] of [
    ['a broken connection', reset()],
    ['a broken connection as a cause', new Error('no answer', { cause: reset() })],
    ['429', 429],
    ['500', 500],
    ['502', 502],
    ['504', 504],
    ['503 with a time', new Delay(503, 0.001)],
  ] as const) {
    it(`is asked again, with pauses that grow: ${name}`, async () => {
      const { review, asked } = scripted([step, step, step, step, jane]);
      assert.equal((await review())?.user.username, 'jane');
      assert.deepEqual(
        asked.map(({ at }) => Math.floor(at)),
        [0, 500, 1250, 2375, 4063],
      );
    });
  }

  it('is given up after five attempts', async () => {
    const { review, asked, log } = scripted([500]);
    await assert.rejects(review(), /answered 500$/);
    assert.equal(asked.length, 5);
    assert.doesNotMatch(log.join(), /the-token/);
  });

  it('is retried after its Retry-After; one beyond the deadline fails immediately', async () => {
    const { review, asked } = scripted([new Delay(429, 2), jane]);
    await review();
    assert.equal(asked[1]?.at, 2_000);
    const late = scripted([new Delay(429, 60), jane]);
    await assert.rejects(late.review(), /answered 429$/);
    assert.equal(late.clock.monotonic() < 1_000, true);
  });

  it('has a deadline', async () => {
    const waiting: AskWebhook = (_body, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const clock = new ManualClock();
    const { review } = scripted([], { ask: waiting, clock });
    const answer = review();
    clock.advance(limits.webhookTokenMsMax);
    await assert.rejects(answer, /no answer: it is too slow$/);
    assert.equal(clock.pending, 0);
  });

  it('that fails is logged once, and again when it recovers', async () => {
    const { review, log } = scripted([400, 400, jane, jane, 400]);
    for (let time = 0; time < 5; time++) await review().catch(() => {});
    const told = log.map((line) => JSON.parse(line));
    assert.deepEqual(
      told.map(({ level, msg }) => [level, msg]),
      [
        ['error', 'the token webhook fails'],
        ['info', 'the token webhook answers again'],
        ['error', 'the token webhook fails'],
      ],
    );
    assert.equal(told[0].err, 'the token webhook answered 400');
  });

  it('has metrics', async () => {
    const { review, metrics } = scripted([500, reset(), jane]);
    await review();
    assert.deepEqual(metrics.render().match(/^apiserver_delegated_authn_request_total.*$/gm), [
      'apiserver_delegated_authn_request_total{code="500"} 1',
      'apiserver_delegated_authn_request_total{code="<error>"} 1',
      'apiserver_delegated_authn_request_total{code="200"} 1',
    ]);
    assert.match(metrics.render(), /request_duration_seconds_bucket\{code="200",le="0.25"\} 1/);
  });
});

it('a token webhook over TLS gets the client certificate', async () => {
  const server = new TlsFixture();
  await server.listen();
  try {
    const seen: unknown[] = [];
    server.handle = (request, response) => {
      seen.push(request.method, request.url, peerName(request));
      request.resume().on('end', () => {
        response.end(JSON.stringify({ kind: 'TokenReview', apiVersion: 'authentication.orch.io/v1', status: jane }));
      });
    };
    const credential = { type: 'stored', certificate: server.issue('apiserver') } as const;
    const clock = new ManualClock();
    const sender = webhookSender(server.connection('/tokens?realm=a', { credential }), {
      clock,
      ...bareWorld,
      timeoutMs: 1_000,
      userAgent: 'test',
    });
    const { authenticator } = scripted([], { ask: sender.send, clock });
    assert.equal((await authenticator.authenticateToken('t', []))?.user.username, 'jane');
    assert.deepEqual(seen, ['POST', '/tokens?realm=a', 'apiserver']);
    sender.close();
  } finally {
    await server.close();
  }
});
