import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import type { LogFields } from '../../../base/log-lines.ts';
import { silentLogger } from '../../../base/logger.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { orch } from '../../../dialect/orch.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import { accessMetrics } from '../access-metrics.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import type { Operation } from '../operation.ts';
import { servePipeline, stages } from '../pipeline.ts';
import { operationOf, pipelineOf, pipelineParts } from '../pipeline-fixture.ts';
import type { RequestContext } from '../request-context.ts';
import { accessLog } from './access-log.ts';
import { type RequestMessage, requestChannels, requestPublisher } from './request-channels.ts';
import { RequestMetrics, workAfterTimeout } from './request-metrics.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';
import { WatchMetrics } from './watch-metrics.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs one request through the pipeline with these observers, and ends it. */
async function serve(
  observers: readonly RequestObserver[],
  {
    exchange = new ExchangeFixture('GET', '/version'),
    answer = ({ exchange: each }) => each.respond(200, {}, 'body'),
    ...more
  }: Partial<Parameters<typeof pipelineParts>[0]> & { readonly exchange?: ExchangeFixture } = {},
): Promise<ExchangeFixture> {
  const clock = new ManualClock();
  const parts = pipelineParts({
    clock,
    observers,
    answer(context, operation) {
      clock.advance(30);
      return answer(context, operation);
    },
    ...more,
  });
  pipelineOf(parts)(exchange);
  await settled();
  clock.advance(10);
  exchange.end();
  parts.resources.close();
  return exchange;
}

describe('observers', () => {
  const recorder = (seen: string[]): RequestObserver => ({
    received: ({ user }) => seen.push(`received from ${user.username}`),
    identified: ({ user }) => seen.push(`identified ${user.username}`),
    answered: ({ exchange }) => seen.push(`answered ${exchange.status}`),
    ended: (_, { status, bytes, durationMs, ending }) => seen.push(`ended ${status} ${bytes} ${durationMs} ${ending}`),
  });

  it('are notified of a request in order', async () => {
    const seen: string[] = [];
    await serve([recorder(seen)]);
    assert.deepEqual(seen, [
      'received from system:anonymous',
      'identified jane',
      'answered 200',
      'ended 200 4 40 complete',
    ]);
  });

  it('are notified of one that is refused before authentication', async () => {
    const seen: string[] = [];
    await serve([recorder(seen)], {
      authenticator: { authenticate: () => assert.fail('refused') },
      refuse: ({ exchange }) => exchange.respond(401, {}),
    });
    assert.deepEqual(seen, ['received from system:anonymous', 'answered 401', 'ended 401 0 10 complete']);
  });

  it('are notified of one whose client goes away, before its work ends', async () => {
    const seen: string[] = [];
    await serve([recorder(seen)], { answer: ({ exchange }) => (exchange as ExchangeFixture).end('clientGone') });
    assert.deepEqual(seen.slice(2), ['ended 0 0 30 clientGone', 'answered 0']);
  });
});

describe('the id of a request', () => {
  const random = { uuid: () => 'made', bytes: () => new Uint8Array(8) };
  for (const [what, sent, id] of [
    ['none', undefined, 'made'],
    ['of a client', 'abc-1', 'abc-1'],
    ['as long as can be', 'x'.repeat(limits.auditIdCharactersMax), 'x'.repeat(limits.auditIdCharactersMax)],
    ['too long', 'x'.repeat(limits.auditIdCharactersMax + 1), 'made'],
    ['empty', '', 'made'],
    ['of two lines', ['a', 'b'], 'made'],
    ['with a space', 'a b', 'made'],
    ['with what steers a terminal', 'a\x1b[31m', 'made'],
    ['beyond ASCII', 'ä', 'made'],
  ] as const) {
    it(what, async () => {
      const seen: string[] = [];
      const exchange = new ExchangeFixture('GET', '/', { headers: sent === undefined ? {} : { 'audit-id': sent } });
      await serve([{ ended: ({ auditId }) => void seen.push(auditId) }], { exchange, random });
      assert.deepEqual([exchange.headers['audit-id'], seen], [id, [id]]);
    });
  }
});

const subresources = [{ name: 'status' }];
const served = {
  kind: { group: 'g', version: 'v1', kind: 'Pod', resource: 'pods', subresources },
} as unknown as ServedResource;
const find = ({ resource }: ResourceRequest) => (resource === 'pods' ? served : undefined);

describe('metrics of requests', () => {
  interface Case {
    readonly what: string;
    readonly method?: string;
    readonly target: string;
    readonly operation?: Partial<Operation>;
    /** Refused before the stage `prepare`. */
    readonly refused?: boolean;
    readonly labels: string;
  }
  const objects = '/apis/g/v1/namespaces/n/pods';
  const inGroup = 'group="g",version="v1",resource="pods"';
  const nowhere = 'group="",version="",resource=""';
  const cases: readonly Case[] = [
    { what: 'an object', target: `${objects}/a`, labels: `verb="GET",${inGroup},subresource="",scope="resource"` },
    {
      what: 'HEAD of one',
      method: 'HEAD',
      target: `${objects}/a`,
      labels: `verb="GET",${inGroup},subresource="",scope="resource"`,
    },
    { what: 'a list', target: objects, labels: `verb="LIST",${inGroup},subresource="",scope="namespace"` },
    { what: 'all lists', target: '/apis/g/v1/pods', labels: `verb="LIST",${inGroup},subresource="",scope="cluster"` },
    {
      what: 'a watch',
      target: `${objects}?watch=1`,
      labels: `verb="WATCH",${inGroup},subresource="",scope="namespace"`,
    },
    {
      what: 'create',
      method: 'POST',
      target: objects,
      labels: `verb="POST",${inGroup},subresource="",scope="resource"`,
    },
    {
      what: 'a subresource',
      method: 'PUT',
      target: `${objects}/a/status`,
      labels: `verb="PUT",${inGroup},subresource="status",scope="resource"`,
    },
    {
      what: 'a patch',
      method: 'PATCH',
      target: `${objects}/a`,
      operation: { form: { type: 'patch', format: 'json', patch: 'merge' } },
      labels: `verb="PATCH",${inGroup},subresource="",scope="resource"`,
    },
    {
      what: 'apply',
      method: 'PATCH',
      target: `${objects}/a`,
      operation: { form: { type: 'patch', format: 'yaml', patch: 'apply' } },
      labels: `verb="APPLY",${inGroup},subresource="",scope="resource"`,
    },
    {
      what: 'deletion of a collection',
      method: 'DELETE',
      target: objects,
      labels: `verb="DELETE",${inGroup},subresource="",scope="namespace"`,
    },
    {
      what: 'one that is refused early',
      target: `${objects}/a/status`,
      refused: true,
      labels: `verb="GET",${inGroup},subresource="status",scope="resource"`,
    },
    {
      what: 'a path',
      target: '/healthz/etcd',
      labels: `verb="GET",${nowhere},subresource="/healthz",scope=""`,
    },
    ...['/made-up', '/apis/g/v1/made-up', `${objects}/a/made-up`, '/apis//', '/%'].map((target) => ({
      what: `what is not served: ${target}`,
      target,
      refused: true,
      labels: `verb="GET",${nowhere},subresource="",scope=""`,
    })),
    {
      what: 'a method that is none',
      method: 'MADE-UP',
      target: objects,
      refused: true,
      labels: `verb="other",${nowhere},subresource="",scope=""`,
    },
  ];

  const counted = (metrics: Metrics, name: string): string[] =>
    metrics
      .render()
      .split('\n')
      .filter((line) => line.startsWith(name));

  const countOne = (metrics: Metrics, { method = 'GET', target, operation, refused }: Omit<Case, 'what' | 'labels'>) =>
    serve([new RequestMetrics(metrics, find)], {
      exchange: new ExchangeFixture(method, target),
      prepare({ info }) {
        if (refused) throw new Error('refused');
        return { ...operationOf(info), served, ...operation } as Operation;
      },
      refuse: ({ exchange }) => exchange.respond(404, {}, 'no'),
    });

  for (const { what, labels, ...each } of cases) {
    it(what, async () => {
      const metrics = new Metrics();
      await countOne(metrics, each);
      const component = labels.includes('group="g"') ? 'component="apiserver"' : 'component=""';
      const all = `${labels},${component},dry_run=""`;
      const code = each.refused ? 404 : 200;
      assert.deepEqual(counted(metrics, 'apiserver_request_total'), [
        `apiserver_request_total{${all},code="${code}"} 1`,
      ]);
      assert.deepEqual(counted(metrics, 'apiserver_request_duration_seconds_sum'), [
        `apiserver_request_duration_seconds_sum{${all}} ${each.refused ? 0.01 : 0.04}`,
      ]);
      const sizes = counted(metrics, 'apiserver_response_sizes_sum').map((line) => line.split(' ')[1]);
      assert.deepEqual(sizes, /verb="(GET|LIST)"/.test(labels) ? [each.refused ? '2' : '4'] : []);
    });
  }

  for (const [query, label] of [
    ['?dryRun=All', 'All'],
    ['?dryRun=made-up', 'invalid'],
    ['?dryRun=', ''],
    ['?fieldManager=x', ''],
  ] as const) {
    it(`dry run: ${query}`, async () => {
      const metrics = new Metrics();
      await countOne(metrics, { method: 'POST', target: `${objects}${query}` });
      assert.match(metrics.render(), new RegExp(`^apiserver_request_total.*dry_run="${label}",code="200"} 1$`, 'm'));
    });
  }

  it('the SLI duration excludes the wait for a seat', async () => {
    const metrics = new Metrics();
    const waiting: RequestObserver = {
      answered: (context) => {
        context.waitedMs = 25;
      },
    };
    await serve([waiting, new RequestMetrics(metrics, find)]);
    assert.match(metrics.render(), /^apiserver_request_duration_seconds_sum\S+ 0.04$/m);
    assert.match(metrics.render(), /^apiserver_request_sli_duration_seconds_sum\S+ 0.015$/m);
  });

  for (const [query, label] of [
    ['', ''],
    ['?dryRun=All', ''],
    ['?fieldValidation=Strict', 'Strict'],
    ['?fieldValidation=made-up', 'invalid'],
    ['?fieldValidation=Warn&fieldValidation=Warn', 'invalid'],
  ] as const) {
    it(`field validation: ${query}`, async () => {
      const metrics = new Metrics();
      await serve([new RequestMetrics(metrics, find)], { exchange: new ExchangeFixture('GET', `/version${query}`) });
      assert.deepEqual(
        counted(metrics, 'field_validation_request_duration_seconds_count').filter((line) => line.endsWith(' 1')),
        [`field_validation_request_duration_seconds_count{field_validation="${label}"} 1`],
      );
    });
  }

  for (const [username, own] of [
    ['system:apiserver', 1],
    ['jane', 0],
  ] as const) {
    it(`requests of ${username} to itself: ${own}`, async () => {
      const metrics = new Metrics();
      const user = { username, uid: '', groups: [], extra: {} };
      await serve([new RequestMetrics(metrics, find)], { authenticator: { authenticate: () => user } });
      assert.equal(counted(metrics, 'apiserver_selfrequest_total').length, own);
    });
  }

  it('usernames are no labels', () => {
    const metrics = new Metrics();
    const { user } = accessMetrics(metrics, orch);
    for (let at = 0; at < 3; at++) for (const name of [`jane-${at}`, `jane-${at}@example.com`, 'admin']) user(name);
    assert.deepEqual(counted(metrics, 'authenticated_user_requests').sort(), [
      'authenticated_user_requests{username="admin"} 3',
      'authenticated_user_requests{username="email_id"} 3',
      'authenticated_user_requests{username="other"} 3',
    ]);
  });

  for (const result of ['ok', 'error'] as const) {
    it(`work that ends after the time of its request: ${result}`, async () => {
      const [metrics, clock, work] = [new Metrics(), new ManualClock(), Promise.withResolvers<void>()];
      const parts = pipelineParts({
        clock,
        requestMsMax: 1_000,
        answer: () => work.promise,
        refuse: ({ exchange }) => exchange.responded || exchange.respond(504, {}),
      });
      const exchange = new ExchangeFixture('GET', '/version');
      const counter = workAfterTimeout(metrics);
      servePipeline(stages(parts), { ...parts, workAfterTimeout: counter })(exchange);
      clock.advance(2_000);
      assert.deepEqual([exchange.status, counted(metrics, 'apiserver_request_post_timeout_total')], [504, []]);
      if (result === 'ok') work.resolve();
      else work.reject(new Error('too late'));
      await settled();
      const series = `apiserver_request_post_timeout_total{source="rest-handler",status="${result}"} 1`;
      assert.deepEqual(counted(metrics, 'apiserver_request_post_timeout_total'), [series]);
      exchange.end();
      parts.resources.close();
    });
  }

  it('an answer that the server cuts off', async () => {
    const metrics = new Metrics();
    await serve([new RequestMetrics(metrics, find)], { answer: ({ exchange }) => exchange.destroy() });
    assert.match(metrics.render(), /^apiserver_request_aborts_total\{.*subresource="\/version",scope=""\} 1$/m);
    assert.match(metrics.render(), /^apiserver_request_total\{.*code="0"\} 1$/m);
  });

  it('requests that the server ends to protect itself', async () => {
    const metrics = new Metrics();
    const observers = [new RequestMetrics(metrics, find)];
    for (const terminated of [true, false]) {
      await serve(observers, {
        refuse: ({ exchange }) => exchange.respond(429, {}),
        prepare(context) {
          if (terminated) context.terminated = true;
          throw new Error('refused');
        },
      });
    }
    assert.deepEqual(counted(metrics, 'apiserver_request_terminations_total'), [
      `apiserver_request_terminations_total{verb="GET",${nowhere},subresource="",scope="",component="",code="429"} 1`,
    ]);
  });

  it('watches that are open', async () => {
    const metrics = new Metrics();
    const open = (): string[] => counted(metrics, 'apiserver_longrunning_requests').map((line) => line.slice(-1));
    const observer = new RequestMetrics(metrics, find);
    const seen: string[][] = [];
    await serve([observer, { answered: () => void seen.push(open()) }], {
      exchange: new ExchangeFixture('GET', `${objects}?watch=1`),
      answer: ({ ticket }) => {
        if (ticket) ticket.longRunning = true;
      },
      prepare: ({ info }) => ({ ...operationOf(info), served }) as Operation,
    });
    assert.deepEqual([seen, open()], [[['1']], ['0']]);
  });

  it('events of watches', async () => {
    const metrics = new Metrics();
    const counts = new WatchMetrics(metrics).of(served);
    counts.sent(10);
    counts.sent(2000);
    assert.match(metrics.render(), /^apiserver_watch_events_total\{group="g",version="v1",kind="Pod"\} 2$/m);
    assert.match(metrics.render(), /^apiserver_watch_events_sizes_bucket\{.*le="1024"\} 1$/m);
  });
});

describe('the access log', () => {
  const linesOf = async (exchange: ExchangeFixture, more: Parameters<typeof serve>[1] = {}): Promise<LogFields[]> => {
    const lines: LogFields[] = [];
    const logger = {
      ...silentLogger,
      info: (message: string, fields: LogFields = {}) => void lines.push({ message, ...fields }),
    };
    await serve([accessLog(logger)], { exchange, ...more });
    return lines;
  };

  it('has the fields of kube-apiserver, and no credentials', async () => {
    const headers = { 'user-agent': 'client/1', 'audit-id': 'id', authorization: 'Bearer SECRET', cookie: 'SECRET' };
    const exchange = new ExchangeFixture('PATCH', '/api/v1/namespaces/n/pods/a?fieldManager=m', { headers });
    const operation = { form: { type: 'patch', format: 'yaml', patch: 'apply' } } as const;
    const prepare = ({ info }: RequestContext) => ({ ...operationOf(info), ...operation }) as Operation;
    assert.deepEqual(await linesOf(exchange, { prepare }), [
      {
        message: 'HTTP',
        verb: 'APPLY',
        URI: '/api/v1/namespaces/n/pods/a?fieldManager=m',
        latency: '40.000ms',
        userAgent: 'client/1',
        'audit-ID': 'id',
        srcIP: '192.0.2.1:40000',
        resp: 200,
      },
    ]);
  });

  it('is bounded in length', async () => {
    const headers = { 'user-agent': 'u'.repeat(50_000), 'audit-id': 'i'.repeat(100) };
    const target = `/api/${'x'.repeat(50_000)}?watch=${'y'.repeat(50_000)}`;
    const [line = {}] = await linesOf(new ExchangeFixture('X'.repeat(50_000), target, { headers }));
    assert.ok(JSON.stringify(line).length < 3_000);
    assert.equal(line['audit-ID'], `${'i'.repeat(64)}...`);
  });

  it('says how an incomplete answer ended', async () => {
    const [line] = await linesOf(new ExchangeFixture('GET', '/version'), {
      answer: ({ exchange }) => exchange.destroy(),
    });
    assert.deepEqual([line?.['resp'], line?.['ending']], [0, 'cutOff']);
  });
});

describe('the channels of requests', () => {
  it('publishes to subscribed channels, without headers', async () => {
    const seen: [string, RequestMessage][] = [];
    const names = Object.values(requestChannels);
    const on = (message: unknown, name: string | symbol): void => {
      seen.push([String(name), message as RequestMessage]);
    };
    for (const name of names) subscribe(name, on);
    const headers = { authorization: 'Bearer SECRET', 'audit-id': 'id' };
    const exchange = new ExchangeFixture('GET', '/version?token=x', { headers });
    await serve([requestPublisher()], { exchange });
    for (const name of names) unsubscribe(name, on);
    await serve([requestPublisher()]);
    assert.deepEqual(
      seen.map(([name, { auditId, method, path, user }]) => [name, auditId, method, path, user?.username]),
      [
        ['orch:request:received', 'id', 'GET', '/version', undefined],
        ['orch:request:identified', 'id', 'GET', '/version', 'jane'],
        ['orch:request:answered', 'id', 'GET', '/version', 'jane'],
        ['orch:request:ended', 'id', 'GET', '/version', 'jane'],
      ],
    );
    const outcome: Outcome = { status: 200, bytes: 4, durationMs: 40, ending: 'complete' };
    assert.deepEqual(seen.at(-1)?.[1].outcome, outcome);
    assert.equal(new Set(seen.map(([, { request }]) => request)).size, 1);
    assert.doesNotMatch(JSON.stringify(seen), /SECRET/);
  });
});
