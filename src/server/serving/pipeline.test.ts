import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { ExchangeFixture } from './exchange-fixture.ts';
import { servePipeline, stages } from './pipeline.ts';
import { contextOf, jane, pipelineParts } from './pipeline-fixture.ts';
import { noteWrite, type RequestContext, type Stage } from './request-context.ts';
import { deadline } from './stages/deadline.ts';
import type { PipelineParts } from './stages/parts.ts';

let clock: ManualClock;
let resources: ClosableStack;
let refused: unknown[];
beforeEach(() => {
  clock = new ManualClock();
  resources = new ClosableStack();
  refused = [];
});

const refuse = (context: RequestContext, error: unknown): void => {
  refused.push(error);
  context.exchange.respond(error instanceof StatusError ? error.code : 500, {});
};

const parts = (more: Partial<PipelineParts> = {}): PipelineParts =>
  pipelineParts({ clock, resources, refuse, ...more });

const context = (method: string, target: string) => contextOf(new ExchangeFixture(method, target));

/** Runs the request through all stages, with overrides. */
const serve = (exchange: ExchangeFixture, more: Partial<PipelineParts> = {}): void => {
  const made = parts(more);
  servePipeline(stages(made), made)(exchange);
};

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the pipeline', () => {
  const recorded = (seen: string[], name: string, run: Stage['run'] = () => {}): Stage => ({
    name,
    run(each) {
      seen.push(name);
      return run(each);
    },
  });

  test('has its stages in the order of the design (section 4)', () => {
    assert.deepEqual(
      stages(parts()).map(({ name }) => name),
      [
        ...['observe', 'requestInfo', 'deadline', 'authenticate', 'impersonate', 'flow', 'fresh', 'authorize'],
        ...['prepare', 'body', 'seat', 'answer'],
      ],
    );
  });

  test('runs synchronously if no stage waits', () => {
    const seen: string[] = [];
    servePipeline([recorded(seen, 'a'), recorded(seen, 'b')], parts())(new ExchangeFixture('GET', '/'));
    assert.deepEqual(seen, ['a', 'b']);
  });

  test('resumes after a stage that waits', async () => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const list = [recorded(seen, 'a'), recorded(seen, 'b', () => gate.promise), recorded(seen, 'c')];
    servePipeline(list, parts())(new ExchangeFixture('GET', '/'));
    await settle();
    assert.deepEqual(seen, ['a', 'b']);
    gate.resolve();
    await settle();
    assert.deepEqual(seen, ['a', 'b', 'c']);
  });

  for (const [how, fail] of [
    [
      'throws',
      () => {
        throw new StatusError('Forbidden', 'no');
      },
    ],
    ['rejects', () => Promise.reject(new StatusError('Forbidden', 'no'))],
    [
      'throws behind one that waited',
      async () => {
        await settle();
        throw new StatusError('Forbidden', 'no');
      },
    ],
  ] as const) {
    test(`a stage that ${how} is the answer, and the last`, async () => {
      const seen: string[] = [];
      const exchange = new ExchangeFixture('GET', '/');
      servePipeline([recorded(seen, 'a', fail), recorded(seen, 'b')], parts())(exchange);
      await settle();
      await settle();
      assert.deepEqual(seen, ['a']);
      assert.equal(exchange.status, 403);
      assert.equal(refused.length, 1);
    });
  }

  test('a malformed request is refused with nothing else known of it', () => {
    const exchange = new ExchangeFixture('GET', '/api/%zz');
    serve(exchange);
    assert.equal(exchange.status, 400);
  });

  test('authentication comes before authorization', async () => {
    const asked: unknown[] = [];
    const authenticate = async (): Promise<UserInfo> => jane;
    const authorizer: PipelineParts['authorizer'] = {
      async authorize(attributes, user) {
        asked.push([attributes.type, attributes.verb, user.username]);
        return { verdict: 'noOpinion', reason: 'nobody says so' };
      },
    };
    const exchange = new ExchangeFixture('DELETE', '/api/v1/nodes/a');
    serve(exchange, { authenticator: { authenticate }, authorizer });
    await settle();
    assert.deepEqual(asked, [['resource', 'delete', 'jane']]);
    assert.equal(exchange.status, 403);
    assert.match(String(refused[0]), /User "jane" cannot delete resource "nodes".*nobody says so/);
  });

  test('the impersonated user is authorized, not the sender', async () => {
    const asked: string[] = [];
    const authorizer: PipelineParts['authorizer'] = {
      authorize({ verb }, user) {
        asked.push(`${user.username} ${verb}`);
        return { verdict: 'allow', reason: '' };
      },
    };
    const seen: unknown[] = [];
    const answer: PipelineParts['answer'] = ({ exchange, user, impersonatedBy }) => {
      seen.push(user.username, impersonatedBy?.username, exchange.headerNames());
    };
    const headers = { 'impersonate-user': 'bob', authorization: 'Bearer x', 'x-remote-user': 'root' };
    serve(new ExchangeFixture('GET', '/version', { headers }), { authorizer, answer });
    await settle();
    assert.deepEqual(asked, ['jane impersonate', 'bob get']);
    assert.deepEqual(seen, ['bob', 'jane', []]);
  });
});

describe('pending authorizations', () => {
  test('are bounded for each tenant, and refused with 429 before they are asked', async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const made = parts({
      authenticator: {
        authenticate: (credentials) => ({ ...jane, username: credentials.header('authorization') ?? '' }),
      },
      authorizer: {
        authorize: (_attributes, { username }) => {
          asked.push(username);
          return new Promise((resolve) => {
            answers.push(() => resolve({ verdict: 'allow', reason: '' }));
          });
        },
      },
    });
    const handle = servePipeline(stages(made), made);
    const ask = (authorization: string): ExchangeFixture => {
      const exchange = new ExchangeFixture('GET', '/api/v1/nodes', { headers: { authorization } });
      handle(exchange);
      return exchange;
    };
    const share = limits.authorizationsWaitingMax / 2;
    const flood = Array.from({ length: share + 10 }, () => ask('flood'));
    assert.deepEqual(
      flood.slice(share).map(({ status }) => status),
      Array.from({ length: 10 }, () => 429),
    );
    const other = ask('other');
    assert.equal(asked.length, share + 1);
    for (const answer of answers) answer();
    await settle();
    assert.ok([...flood.slice(0, share), other].every(({ status }) => status === 200));
    ask('flood');
    assert.equal(asked.length, share + 2, 'what was answered does not count');
    answers.at(-1)?.();
    await settle();
  });
});

describe('the deadline of a request', () => {
  test('ends it and what it waits for with 504', () => {
    const stage = deadline(parts());
    const one = context('POST', '/api/v1/nodes');
    void stage.run(one);
    clock.advance(limits.requestMsMax - 1_000);
    assert.equal(one.exchange.signal.aborted, false);
    clock.advance(2_000);
    assert.equal(one.exchange.status, 504);
    assert.ok(one.exchange.signal.reason instanceof StatusError);
    assert.match(String(refused[0]), /did not complete within 60 s$/);
  });

  test('leaves the outcome of a write that was sent unknown', () => {
    const stage = deadline(parts());
    const one = context('POST', '/api/v1/nodes');
    void stage.run(one);
    noteWrite(one);
    clock.advance(limits.requestMsMax + 1_000);
    assert.equal(one.exchange.status, 504);
    const [error] = refused;
    assert.ok(error instanceof StatusError);
    assert.equal(error.reason, 'Timeout');
    assert.match(error.message, /within 60 s: the outcome is unknown; read before you try again$/);
    assert.equal(error.details?.retryAfterSeconds, 1);
  });

  test('keeps a write that was not sent from being sent', () => {
    const stage = deadline(parts());
    const one = context('POST', '/api/v1/nodes');
    void stage.run(one);
    clock.advance(limits.requestMsMax + 1_000);
    assert.throws(() => noteWrite(one), { reason: 'Timeout' });
  });

  test('cuts off an answer in progress, without a second answer', () => {
    const stage = deadline(parts());
    const one = context('GET', '/api/v1/nodes');
    void stage.run(one);
    one.exchange.respond(200, {});
    clock.advance(limits.requestMsMax + 1_000);
    assert.equal(one.exchange.signal.aborted, true);
    assert.deepEqual(refused, []);
  });

  test('does not apply to a request that has ended', () => {
    const stage = deadline(parts());
    const one = context('GET', '/api/v1/nodes');
    void stage.run(one);
    one.exchange.end();
    clock.advance(limits.requestMsMax + 1_000);
    assert.equal(one.exchange.signal.aborted, false);
    assert.equal(clock.pending, 0);
  });

  for (const [timeout, afterMs] of [
    ['5s', 5_000],
    ['1500ms', 1_500],
    ['0.5m', 30_000],
    ['1ns', 1],
    ['59.9s', 59_900],
  ] as const) {
    test(`is what the parameter says: ${timeout}`, () => {
      const one = context('GET', `/api/v1/nodes?timeout=${timeout}`);
      void deadline(parts()).run(one);
      if (afterMs > 1) clock.advance(afterMs - 1);
      assert.equal(one.exchange.signal.aborted, false);
      clock.advance(1);
      assert.equal(one.exchange.status, 504);
      assert.match(
        String(refused[0]),
        new RegExp(`did not complete within ${timeout === '1ns' ? '' : afterMs / 1000}`),
      );
      one.exchange.end();
      assert.equal(clock.pending, 0);
    });
  }

  test('by the parameter ends with the request', () => {
    const one = context('GET', '/api/v1/nodes?timeout=5s');
    void deadline(parts()).run(one);
    one.exchange.end();
    assert.equal(clock.pending, 0);
  });

  for (const timeout of ['', '0', '0s', '-5s', '60s', '1h', '9999999h']) {
    test(`is the server's where the parameter is ${JSON.stringify(timeout)}`, () => {
      const one = context('GET', `/api/v1/nodes?timeout=${timeout}`);
      void deadline(parts()).run(one);
      clock.advance(limits.requestMsMax - 1_000);
      assert.equal(one.exchange.signal.aborted, false);
      clock.advance(2_000);
      assert.equal(one.exchange.status, 504);
    });
  }

  for (const timeout of ['abc', '5', '5x', '1s2', 's', '1e3s', ' 5s', '5 s', '--5s', '∞']) {
    for (const path of ['/api/v1/nodes', '/healthz', '/openapi/v2']) {
      test(`${path}?timeout=${timeout} is a request that cannot be read, said last`, () => {
        const one = context('GET', `${path}?timeout=${encodeURIComponent(timeout)}`);
        void deadline(parts()).run(one);
        assert.equal(one.exchange.responded, false);
        assert.ok(one.malformed instanceof StatusError);
        assert.equal(one.malformed.code, 400);
        assert.equal(
          one.malformed.message,
          `invalid timeout specified in the request URL - time: invalid duration "${timeout}"`,
        );
      });
    }
  }

  test('a watch has none, whatever the parameter says', () => {
    for (const target of ['/api/v1/nodes?watch=true&timeout=abc', '/api/v1/watch/nodes?timeout=1s']) {
      const one = context('GET', target);
      void deadline(parts()).run(one);
      assert.equal(one.malformed, undefined);
      assert.equal(clock.pending, 0);
    }
  });

  test('watches have none', () => {
    const stage = deadline(parts());
    const one = context('GET', '/api/v1/nodes?watch=true');
    void stage.run(one);
    assert.equal(clock.pending, 0);
  });

  test('ends with the server', () => {
    const stage = deadline(parts());
    void stage.run(context('GET', '/api/v1/nodes'));
    resources.close();
    assert.equal(clock.pending, 0);
  });
});
