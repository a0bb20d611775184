import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { auditMetrics } from '../../../audit/audit-metrics.ts';
import type { AuditBackend } from '../../../audit/backend.ts';
import type { AuditEvent } from '../../../audit/event.ts';
import { EventEncoder } from '../../../audit/event-encoder.ts';
import type { AuditLevel } from '../../../audit/policy.ts';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { seededRandom } from '../../../base/random.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import { orch } from '../../../dialect/orch.ts';
import { ClientGone } from '../../../http/base-exchange.ts';
import { StatusError } from '../../../meta/status-error.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { jane, pipelineOf, pipelineParts } from '../pipeline-fixture.ts';
import { noteWrite, type RequestContext } from '../request-context.ts';
import type { PipelineParts } from '../stages/parts.ts';
import { Auditor } from './auditor.ts';

/** A pipeline with an auditor that records everything, at the level Metadata unless another is given. */
function audited(
  parts: Partial<PipelineParts> = {},
  { process, level = 'Metadata', ...backend }: Partial<AuditBackend> & { readonly level?: AuditLevel } = {},
) {
  const clock = new ManualClock();
  const { counts } = auditMetrics(new Metrics());
  const recorded: AuditEvent[] = [];
  const auditor = new Auditor({
    evaluate: () => ({ level, omitStages: new Set(), omitManagedFields: false }),
    encoder: new EventEncoder(orch),
    backend: {
      ...backend,
      process(encoded) {
        recorded.push(encoded.event);
        return process?.(encoded) ?? true;
      },
      async close() {},
    },
    blocks: false,
    ...{ counts, clock, dialect: orch },
  });
  const refuse: PipelineParts['refuse'] = ({ exchange, audit }, error) => {
    audit?.noteFailure(error);
    if (!exchange.responded) exchange.respond(error instanceof StatusError ? error.code : 500, {});
  };
  const all = { ...pipelineParts({ clock, auditor, refuse, ...parts }), refuse };
  /** What was recorded, with the last events of what ended in this turn. */
  const events = (): readonly AuditEvent[] => {
    auditor.finishEnded();
    return recorded;
  };
  const stages = () => events().map(({ stage, responseStatus }) => `${stage} ${responseStatus?.code ?? '-'}`);
  return { serve: pipelineOf(all), auditor, recorded, events, stages, clock, counts, resources: all.resources };
}

const get = () => new ExchangeFixture('GET', '/api/v1/namespaces/n/pods/p');

describe('the auditor', () => {
  it('records a failure that nobody foresaw as a panic', () => {
    const { serve, stages, events, resources } = audited({
      answer: () => {
        throw new TypeError('x is not a function');
      },
    });
    const exchange = get();
    serve(exchange);
    exchange.end();
    assert.deepEqual(stages(), ['RequestReceived -', 'Panic 500']);
    assert.deepEqual(events()[1]?.responseStatus, {
      code: 500,
      status: 'Failure',
      reason: 'InternalError',
      message: "APIServer panic'd: x is not a function",
    });
    resources.close();
  });

  for (const [error, code] of [
    [new StatusError('InternalError', 'the store failed'), 500],
    [new StatusError('TooManyRequests', 'later'), 429],
    [new ClientGone(), 500],
  ] as const) {
    it(`records as an answer: ${error.message}`, async () => {
      const { serve, stages, resources } = audited({ answer: () => Promise.reject(error) });
      const exchange = get();
      serve(exchange);
      await until(() => exchange.responded);
      exchange.end();
      assert.deepEqual(stages(), ['RequestReceived -', `ResponseComplete ${code}`]);
      resources.close();
    });
  }

  it('waits for the result of a request whose client has gone', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { serve, stages, resources } = audited({
      answer: ({ exchange }) => promise.then(() => exchange.respond(201, {})),
    });
    const exchange = get();
    serve(exchange);
    exchange.end('clientGone');
    assert.deepEqual(stages(), ['RequestReceived -']);
    resolve();
    await until(() => stages().length === 2);
    assert.deepEqual(stages(), ['RequestReceived -', 'ResponseComplete 201']);
    resources.close();
  });

  it('records a request that was refused while its authentication went on, in the order of the stages', async () => {
    const { promise, resolve } = Promise.withResolvers<UserInfo>();
    const { serve, stages, clock, resources } = audited({ authenticator: { authenticate: () => promise } });
    const exchange = get();
    serve(exchange);
    clock.advance(limits.requestMsMax + 1_000);
    exchange.end();
    assert.deepEqual([exchange.status, stages()], [504, []]);
    resolve(jane);
    await until(() => stages().length > 0);
    assert.deepEqual(stages(), ['RequestReceived -', 'ResponseComplete 504']);
    resources.close();
  });

  it('leaves out objects of events where too many bytes are being encoded', async () => {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const level = 'RequestResponse';
    const answer = ({ exchange, audit }: RequestContext, bytes: number) => {
      if (audit) audit.responseObject = { bytes: () => bytes, encode: () => promise };
      exchange.respond(200, {});
    };
    const sizes = [limits.auditEncodingBytesMax - 1, 1, 1, 2 * limits.auditEncodingBytesMax];
    const { serve, events, resources } = audited(
      { answer: (context) => answer(context, sizes.shift() ?? 0) },
      { level },
    );
    const send = (): void => {
      const exchange = get();
      serve(exchange);
      exchange.end();
    };
    const complete = () => events().filter(({ stage }) => stage === 'ResponseComplete');
    for (let request = 1; request <= 3; request++) send();
    assert.equal(complete().length, 1, 'the third');
    resolve(Buffer.from('{}'));
    await until(() => complete().length === 3);
    send();
    await until(() => complete().length === 4);
    const truncated = complete().map(({ annotations, responseObject }) => [
      new Map(annotations).get('audit.orch.io/truncated'),
      responseObject?.toString(),
    ]);
    const whole = [undefined, '{}'];
    assert.deepEqual(truncated, [['true', undefined], whole, whole, whole], 'one alone may have more');
    resources.close();
  });

  it('shows a refusal from the first event after it on', async () => {
    const gone = new StatusError('NotFound', 'no such pod');
    const unknown = new StatusError('Unauthorized', 'Unauthorized');
    const [level, target] = ['RequestResponse', '/api/v1/namespaces/n/pods/p/exec'] as const;
    for (const [parts, expected] of [
      [{ answer: () => Promise.reject(gone) }, ['RequestReceived', 'ResponseStarted 404', 'ResponseComplete 404']],
      [{ authenticator: { authenticate: () => Promise.reject(unknown) } }, ['ResponseStarted 401']],
    ] as const) {
      const { serve, events, resources } = audited(parts, { level });
      const exchange = new ExchangeFixture('GET', target);
      serve(exchange);
      await until(() => exchange.responded);
      exchange.end();
      await until(() => events().length === expected.length);
      const shown = events().map(({ stage, responseObject }) =>
        responseObject ? `${stage} ${JSON.parse(responseObject.toString()).code}` : stage,
      );
      assert.deepEqual(shown, expected);
      resources.close();
    }
  });

  it('makes each event once, whatever comes when', () => {
    const { serve, stages, resources } = audited();
    const exchange = get();
    serve(exchange);
    assert.deepEqual(stages(), ['RequestReceived -']);
    exchange.end();
    exchange.end();
    assert.deepEqual(stages(), ['RequestReceived -', 'ResponseComplete 200']);
    resources.close();
  });

  for (const [when, answer] of [
    ['at once', false],
    ['later', Promise.resolve(false)],
  ] as const) {
    it(`refuses a request whose event cannot be recorded, ${when}, before anything is done`, async () => {
      const { serve, stages, counts, resources } = audited(
        { authorizer: { authorize: () => assert.fail('asked') } },
        { process: () => answer },
      );
      const exchange = get();
      serve(exchange);
      await until(() => exchange.responded);
      exchange.end();
      assert.deepEqual([exchange.status, stages(), counts.rejected], [500, ['RequestReceived -'], 1]);
      resources.close();
    });
  }

  describe('says of a slow request where its time went', () => {
    type Turn = (context: RequestContext, clock: ManualClock) => void;
    const wait =
      (ms: number): Turn =>
      (_, clock) =>
        clock.advance(ms);
    const write: Turn = (context) => noteWrite(context);
    const fail: Turn = () => {
      throw new StatusError('Conflict', 'lost');
    };
    it('but for watches, which are open as long as their clients like', () => {
      const { serve, events, clock, resources } = audited();
      const exchange = new ExchangeFixture('GET', '/api/v1/pods?watch=true');
      serve(exchange);
      clock.advance(60_000);
      exchange.end();
      assert.deepEqual([...(events().at(-1)?.annotations ?? [])], []);
      resources.close();
    });

    for (const [what, answer, afterMs, expected] of [
      ['at the limit', [wait(500)], 0, {}],
      ['beyond it', [wait(501)], 0, { total: '501ms' }],
      ['at its client', [wait(100)], 700, { 'response-write': '700ms', total: '800ms' }],
      ['in the store', [wait(50), write, wait(600)], 0, { etcd: '600ms', total: '650ms' }],
      [
        'in the store, in vain',
        [write, wait(600), fail],
        1,
        { etcd: '600ms', 'response-write': '1ms', total: '601ms' },
      ],
    ] as const) {
      it(what, () => {
        const { serve, events, clock, resources } = audited({
          answer(context) {
            for (const turn of answer) turn(context, clock);
            context.exchange.respond(200, {});
          },
        });
        const exchange = get();
        serve(exchange);
        if (afterMs > 0) clock.advance(afterMs);
        exchange.end();
        const found = [...(events().at(-1)?.annotations ?? [])];
        const keys = Object.entries(expected).map(([layer, value]) => [`apiserver.latency.orch.io/${layer}`, value]);
        assert.deepEqual(found, keys);
        assert.deepEqual([...(events()[0]?.annotations ?? [])], [], 'not when it arrives');
        resources.close();
      });
    }
  });

  it('says the same where events are made in the place of others', async () => {
    const said = async (writesAtOnce: boolean): Promise<readonly string[]> => {
      const texts: string[] = [];
      const record = (encoded: Parameters<AuditBackend['process']>[0]): boolean => {
        texts.push(Buffer.concat([...encoded.parts]).toString());
        return true;
      };
      const answers = [200, 200, 404, 200, 201, 200, 200];
      const users = [jane, jane, { ...jane, username: 'john' }, jane];
      const { serve, events, clock, resources } = audited(
        {
          // Of audit IDs.
          random: seededRandom(1),
          answer: ({ exchange }) => exchange.respond(answers.shift() ?? 200, {}),
          authenticator: { authenticate: () => users.shift() ?? jane },
          authorizer: { authorize: ({ verb }) => ({ verdict: 'allow', reason: `to ${verb}` }) },
        },
        { process: record, writesAtOnce },
      );
      for (const [method, target, headers] of [
        ['GET', '/api/v1/namespaces/n/pods/p', {}],
        ['GET', '/api/v1/namespaces/m/pods/q', { 'user-agent': 'a' }],
        ['GET', '/version', {}],
        ['GET', '/apis/apps/v1/deployments?limit=5', { 'x-forwarded-for': '192.0.2.7' }],
        ['POST', '/api/v1/namespaces/n/pods', {}],
        ['GET', '/apis/apps/v1/namespaces/n/deployments/d/scale', {}],
        ['GET', '/api/v1/nodes?access_token=x', {}],
      ] as const) {
        const exchange = new ExchangeFixture(method, target, {
          headers: { ...headers, 'audit-id': `id of ${target}` },
        });
        serve(exchange);
        await until(() => exchange.responded);
        clock.advance(7);
        exchange.end();
        events();
      }
      resources.close();
      return texts;
    };
    const apart = await said(false);
    assert.equal(apart.filter((text) => text.includes('ResponseComplete')).length, 7, apart.join('\n'));
    assert.deepEqual(await said(true), apart);
  });

  it('makes the last events of those that ended together after their turn, or before it closes', async () => {
    const { serve, recorded, auditor, resources } = audited();
    const ended = () => recorded.filter(({ stage }) => stage === 'ResponseComplete').length;
    const endTwo = () => {
      for (const exchange of [get(), get()]) {
        serve(exchange);
        exchange.end();
      }
    };
    endTwo();
    assert.equal(ended(), 0);
    await turn();
    assert.equal(ended(), 2);
    endTwo();
    await auditor.close();
    assert.equal(ended(), 4);
    resources.close();
  });

  it('has the time of arrival, and that of each stage', () => {
    const { serve, events, clock, resources } = audited();
    const exchange = get();
    const arrived = clock.now();
    serve(exchange);
    clock.advance(250);
    exchange.end();
    assert.deepEqual(
      events().map(({ requestReceivedMs, stageMs }) => [requestReceivedMs - arrived, stageMs - arrived]),
      [
        [0, 0],
        [0, 250],
      ],
    );
    resources.close();
  });
});
