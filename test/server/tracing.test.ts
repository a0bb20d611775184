import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { AuthorizationWebhook } from '../support/authorization-webhook.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';
import { TokenWebhook } from '../support/token-webhook.ts';
import { type CollectedSpan, clientKind, serverKind, TraceCollector } from '../support/trace-collector.ts';

/** Spans are sent a moment after they ended, not after the default of five seconds. */
const soon = ['env', 'OTEL_BSP_SCHEDULE_DELAY=10'];
const all = { samplingRatePerMillion: 1_000_000 };

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const sampled = `00-${traceId}-${spanId}-01`;
const unsampled = `00-${traceId}-${spanId}-00`;

const root = (spans: readonly CollectedSpan[]): CollectedSpan =>
  spans.find(({ kind }) => kind === serverKind) ?? assert.fail('there is no root');

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan =>
  spans.find((span) => span.name === name) ?? assert.fail(`no span ${name} in ${spans.map((span) => span.name)}`);

/** Names of a span and of what is within it. */
function treeOf(spans: readonly CollectedSpan[], span = root(spans)): readonly unknown[] {
  const within = spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
  return [span.name, ...within.map((child) => treeOf(spans, child))];
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const one = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
/** Far above what is done on the event loop. */
const large = { ...one, metadata: { name: 'large' }, data: { a: 'x'.repeat(900_000) } };
const filters = [['authentication'], ['impersonation'], ['authorization']];

interface Row {
  readonly what: string;
  readonly request: readonly [method: string, path: string, options?: RequestOptions];
  readonly status: number;
  /** Names of the spans. */
  readonly tree: readonly unknown[];
  /** Attributes of the span of the verb. */
  readonly verb?: Readonly<Record<string, unknown>>;
}

const ofOne = { 'api-group': '', 'api-version': 'v1', resource: 'configmaps', namespace: 'default', name: 'one' };
const pattern = '/api/v1/namespaces/{:namespace}/configmaps';
const merge = { 'content-type': 'application/merge-patch+json' };

const rows: readonly Row[] = [
  {
    what: 'create',
    request: ['POST', configMaps, { body: one }],
    status: 201,
    tree: [`POST ${pattern}`, ...filters, ['Create', ['priorityandfairness'], ['Create sqlite'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'resource', verb: 'POST', url: configMaps },
  },
  {
    what: 'get',
    request: ['GET', `${configMaps}/one`],
    status: 200,
    tree: [`GET ${pattern}/{:name}`, ...filters, ['Get', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, scope: 'resource', verb: 'GET', url: `${configMaps}/one`, protocol: 'HTTP/1.1' },
  },
  {
    what: 'list',
    request: ['GET', configMaps],
    status: 200,
    tree: [`GET ${pattern}`, ...filters, ['List', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'namespace', verb: 'LIST' },
  },
  {
    what: 'list of the cluster',
    request: ['GET', '/api/v1/configmaps'],
    status: 200,
    tree: ['GET /api/v1/configmaps', ...filters, ['List', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', namespace: '', scope: 'cluster', verb: 'LIST' },
  },
  {
    what: 'watch',
    request: ['GET', `${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=0`],
    status: 200,
    tree: [`GET ${pattern}`, ...filters, ['List', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'namespace', verb: 'WATCH' },
  },
  {
    what: 'watch of one by its path',
    request: ['GET', '/api/v1/watch/namespaces/default/configmaps/one?timeoutSeconds=1&resourceVersion=0'],
    status: 200,
    tree: [`GET ${pattern}/{:name}`, ...filters, ['List', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, scope: 'resource', verb: 'WATCH' },
  },
  {
    what: 'list of one by a selector',
    request: ['GET', `${configMaps}?fieldSelector=metadata.name%3Done`],
    status: 200,
    tree: [`GET ${pattern}`, ...filters, ['List', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'namespace', verb: 'LIST' },
  },
  {
    what: 'a revision that does not come',
    request: ['GET', `${configMaps}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`],
    status: 504,
    tree: [`GET ${pattern}`, ...filters, ['List', ['priorityandfairness']]],
  },
  {
    what: 'update',
    request: ['PUT', `${configMaps}/one`, { body: { ...one, data: { a: '1' } } }],
    status: 200,
    tree: [
      `PUT ${pattern}/{:name}`,
      ...filters,
      ['Update', ['priorityandfairness'], ['GuaranteedUpdate sqlite'], ['SerializeObject']],
    ],
    verb: { ...ofOne, scope: 'resource', verb: 'PUT' },
  },
  {
    what: 'patch',
    request: ['PATCH', `${configMaps}/one`, { body: { data: { a: '2' } }, headers: merge }],
    status: 200,
    tree: [
      `PATCH ${pattern}/{:name}`,
      ...filters,
      ['Patch', ['priorityandfairness'], ['GuaranteedUpdate sqlite'], ['SerializeObject']],
    ],
    verb: { ...ofOne, scope: 'resource', verb: 'PATCH' },
  },
  {
    what: 'delete',
    request: ['DELETE', `${configMaps}/one`],
    status: 200,
    tree: [
      `DELETE ${pattern}/{:name}`,
      ...filters,
      ['Delete', ['priorityandfairness'], ['Delete sqlite'], ['SerializeObject']],
    ],
    verb: { ...ofOne, scope: 'resource', verb: 'DELETE' },
  },
  {
    what: 'delete of a collection',
    request: ['DELETE', `${configMaps}?labelSelector=none`],
    status: 200,
    tree: [`DELETE ${pattern}`, ...filters, ['Delete', ['priorityandfairness'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'namespace', verb: 'DELETE' },
  },
  {
    what: 'a write on the thread for heavy work',
    request: ['POST', configMaps, { body: large }],
    status: 201,
    tree: [`POST ${pattern}`, ...filters, ['Create', ['priorityandfairness'], ['Create sqlite'], ['SerializeObject']]],
    verb: { ...ofOne, name: '', scope: 'resource', verb: 'POST' },
  },
  {
    what: 'a subresource',
    request: ['GET', '/api/v1/namespaces/default/status'],
    status: 200,
    tree: [
      'GET /api/v1/namespaces/{:namespace}/namespaces/{:name}/status',
      ...filters,
      ['Get', ['priorityandfairness'], ['SerializeObject']],
    ],
    verb: { 'api-version': 'v1', resource: 'namespaces', name: 'default', subresource: 'status', scope: 'resource' },
  },
  { what: 'a path', request: ['GET', '/version'], status: 200, tree: ['GET', ...filters, ['priorityandfairness']] },
  {
    what: 'what is not there',
    request: ['GET', `${configMaps}/absent`],
    status: 404,
    tree: [`GET ${pattern}/{:name}`, ...filters, ['Get', ['priorityandfairness']]],
  },
  {
    what: 'a body that cannot be read',
    request: ['POST', configMaps, { body: '{' }],
    status: 400,
    tree: [`POST ${pattern}`, ...filters, ['Create', ['priorityandfairness']]],
  },
  {
    what: 'a refusal',
    request: ['GET', configMaps, { as: 'anonymous' }],
    status: 403,
    tree: [`GET ${pattern}`, ...filters],
  },
  {
    what: 'a credential that does not hold',
    request: ['GET', configMaps, { as: { token: 'wrong' } }],
    status: 401,
    tree: [`GET ${pattern}`, ['authentication']],
  },
];

describe('the trace of a request', () => {
  let collector: TraceCollector;
  let server: OrchProcess;

  before(async () => {
    collector = await TraceCollector.start();
    server = await OrchProcess.start({ flags: collector.flags(all), within: soon });
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  const send = async ([method, path, options]: Row['request'], id: string) => {
    const headers = { ...options?.headers, 'audit-id': id, 'user-agent': 'tester/1' };
    return { answer: await server.request(method, path, { ...options, headers }), trace: await collector.trace(id) };
  };

  for (const { what, request, status, tree, verb } of rows) {
    it(what, async () => {
      const { answer, trace } = await send(request, `row-${rows.findIndex((row) => row.what === what)}`);
      assert.equal(answer.status, status);
      assert.deepEqual(treeOf(trace), tree);
      const { attributes, failed, parentSpanId, links } = root(trace);
      assert.deepEqual([parentSpanId, links, failed], ['', [], status >= 500]);
      assert.equal(attributes['http.status_code'], status);
      assert.equal(attributes['http.method'], request[0]);
      assert.equal(attributes['http.target'], request[1].split('?', 1)[0]);
      assert.equal(attributes['http.wrote_bytes'], answer.bytes.length);
      assert.equal(attributes['http.response_content_length'], answer.bytes.length);
      assert.equal(attributes['net.host.name'], '127.0.0.1');
      assert.ok(Number(attributes['net.host.port']) > 0);
      assert.equal(attributes['user_agent.original'], 'tester/1');
      assert.equal(attributes['net.sock.peer.addr'], '127.0.0.1');
      if (!verb) return;
      const { attributes: shown } = named(trace, String((tree.at(-1) as readonly string[])[0]));
      assert.deepEqual(Object.fromEntries(Object.keys(verb).map((key) => [key, shown[key]])), verb);
      assert.equal(shown['audit-id'], attributes['audit-id']);
      assert.equal(shown['accept'], 'application/json');
    });
  }

  it('says when a body is there, and how long it is', async () => {
    const body = JSON.stringify({ ...one, metadata: { name: 'of-known-length' } });
    const { trace } = await send(['POST', configMaps, { body }], 'body');
    const { events } = named(trace, 'Create');
    assert.equal(root(trace).attributes['http.request_content_length'], body.length);
    const { attributes } = named(trace, 'SerializeObject');
    assert.deepEqual(attributes, {
      ...{ 'audit-id': 'body', method: 'POST', url: configMaps, protocol: 'HTTP/1.1' },
      mediaType: 'application/json',
    });
    assert.deepEqual(events[0], { name: 'limitedReadBody succeeded', attributes: { len: body.length } });
    const later = events.slice(1).map(({ name }) => name);
    assert.deepEqual(later, ['About to write a response', 'Writing http response done']);
  });

  it('says who sends it', () => {
    assert.equal(collector.resource['service.name'], 'apiserver');
    assert.match(String(collector.resource['service.instance.id']), /^apiserver-[0-9a-f-]{36}$/);
  });

  it('has no values of queries, credentials or bodies', async () => {
    const secret = 'c2VjcmV0LXZhbHVl';
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kept' }, data: { key: secret } };
    const path = '/api/v1/namespaces/default/secrets';
    const requests: readonly Row['request'][] = [
      ['POST', `${path}?access_token=${secret}`, { body }],
      ['POST', path, { body: { ...body, data: { key: `not base64: ${secret}` } } }],
      ['GET', `${path}/kept?pretty=${secret}`, { headers: { cookie: secret } }],
      ['GET', `${path}?fieldSelector=metadata.name%3D${secret}&labelSelector=a%3D${secret}`],
      ['GET', path, { as: { token: secret } }],
      ['GET', `/${secret}`],
      ['GET', `${path}/${'x'.repeat(4_000)}`],
    ];
    for (const [at, request] of requests.entries()) await send(request, `secret-${at}`);
    const sent = Buffer.concat(collector.messages);
    assert.ok(sent.includes('secret-6'));
    for (const text of [secret, Buffer.from(secret, 'base64'), 'x'.repeat(1_025)]) {
      assert.ok(!sent.includes(text), String(text));
    }
  });
});

/** Where the trace of a request begins. */
type Origin = 'none' | 'own' | 'linked' | 'continued';

const tokens = ['janes-token,jane,1', 'monitors-token,monitor,2,system:monitoring'].join('\n');
const jane: RequestOptions = { as: { token: 'janes-token' } };
const monitor: RequestOptions = { as: { token: 'monitors-token' } };
const asJane = { headers: { 'impersonate-user': 'jane' } };

/** Who asks with which header, and what becomes of it where the rate records nothing, and all. */
const origins: readonly (readonly [who: string, RequestOptions, header: string | undefined, Origin, Origin])[] = [
  ['a stranger', { as: 'anonymous' }, undefined, 'none', 'own'],
  ['a stranger', { as: 'anonymous' }, sampled, 'none', 'linked'],
  ['a stranger', { as: 'anonymous' }, unsampled, 'none', 'linked'],
  ['a user', jane, undefined, 'none', 'own'],
  ['a user', jane, sampled, 'none', 'linked'],
  ['a credential that does not hold', { as: { token: 'none' } }, undefined, 'none', 'own'],
  ['a credential that does not hold', { as: { token: 'none' } }, sampled, 'none', 'none'],
  ['an admin', {}, undefined, 'none', 'own'],
  ['an admin', {}, sampled, 'continued', 'continued'],
  ['an admin', {}, unsampled, 'none', 'none'],
  ['an admin who impersonates', asJane, sampled, 'continued', 'continued'],
  ['monitoring', monitor, sampled, 'continued', 'continued'],
  ...[
    'no trace',
    `01-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    sampled.toUpperCase(),
    `${sampled}, ${sampled}`,
  ].map((header) => {
    const valid = header.startsWith('01');
    const [none, every]: [Origin, Origin] = valid ? ['continued', 'continued'] : ['none', 'own'];
    return ['an admin', {}, header, none, every] as const;
  }),
];

function originOf(spans: readonly CollectedSpan[], auditId: string): Origin {
  const found = spans.find(({ kind, attributes }) => kind === serverKind && attributes['audit-id'] === auditId);
  if (!found) return 'none';
  const { parentSpanId, links } = found;
  if (found.traceId === traceId && parentSpanId === spanId) return 'continued';
  assert.equal(parentSpanId, '');
  if (links.length === 0) return 'own';
  assert.deepEqual(links, [{ traceId, spanId }]);
  return 'linked';
}

describe('whether a request is traced', () => {
  for (const rate of [undefined, 1_000_000]) {
    it(`at ${rate === undefined ? 'no rate' : `a rate of ${rate}`}`, async () => {
      await using collector = await TraceCollector.start();
      const file = join(collector.directory, 'tokens.csv');
      writeFileSync(file, tokens);
      const flags = [...collector.flags({ samplingRatePerMillion: rate }), `--token-auth-file=${file}`];
      await using server = await OrchProcess.start({ flags });
      for (const [at, [, options, header]] of origins.entries()) {
        const parent = header === undefined ? {} : { traceparent: header, tracestate: 'vendor=state' };
        const headers = { ...options.headers, ...parent, 'audit-id': `origin-${at}` };
        await server.get(configMaps, { ...options, headers });
      }
      // What waits is sent.
      assert.equal(await server.stop(), 0);
      const found = origins.map(([who, , header], at) => [who, header, originOf(collector.spans, `origin-${at}`)]);
      assert.deepEqual(
        found,
        origins.map(([who, , header, none, every]) => [who, header, rate === undefined ? none : every]),
      );
    });
  }

  it('some, at a rate between', async () => {
    await using collector = await TraceCollector.start();
    await using server = await OrchProcess.start({ flags: collector.flags({ samplingRatePerMillion: 500_000 }) });
    for (let sent = 0; sent < 200; sent++) await server.get('/version', { headers: { 'audit-id': `some-${sent}` } });
    assert.equal(await server.stop(), 0);
    const traced = collector.spans.filter(({ attributes }) => String(attributes['audit-id']).startsWith('some-'));
    // That 40 or less, or 160 or more, of 200 are taken has a probability of 1e-18.
    assert.ok(traced.length > 40 && traced.length < 160, `${traced.length} of 200`);
  });
});

describe('a trace goes on', () => {
  it('in the questions to webhooks', async () => {
    await using collector = await TraceCollector.start();
    await using token = await TokenWebhook.start();
    await using authorization = await AuthorizationWebhook.start();
    const parents: (string | undefined)[] = [];
    token.review = () => ({ authenticated: true, user: { username: 'asked' } });
    token.instead = (request) => {
      parents.push(String(request.headers['traceparent']));
      return false;
    };
    authorization.verdict = ({ headers }) => {
      parents.push(String(headers['traceparent']));
      assert.equal(headers['tracestate'], undefined);
      assert.equal(headers['baggage'], undefined);
      return { allowed: true };
    };
    const flags = [
      ...collector.flags(all),
      ...authorization.flagsBeforeRbac(),
      `--authentication-token-webhook-config-file=${token.connectionFile()}`,
    ];
    await using server = await OrchProcess.start({ flags, within: soon });
    parents.length = 0;
    const headers = { 'audit-id': 'asked', baggage: 'secret=1' };
    assert.equal((await server.get(configMaps, { as: { token: 'unknown' }, headers })).status, 200);
    const trace = await collector.trace('asked');
    const asked = ['HTTP POST'];
    const answered = ['List', ['priorityandfairness'], ['SerializeObject']];
    assert.deepEqual(treeOf(trace), [
      `GET ${pattern}`,
      ['authentication', asked],
      ['impersonation'],
      ['authorization', asked],
      answered,
    ]);
    const calls = trace.filter(({ kind }) => kind === clientKind);
    for (const { attributes } of calls) {
      const { port } = attributes['net.peer.port'] === token.fixture.port ? token.fixture : authorization;
      assert.deepEqual(attributes, {
        'http.method': 'POST',
        'net.peer.name': '127.0.0.1',
        'net.peer.port': port,
        'http.status_code': 200,
      });
    }
    const ids = calls.map(({ traceId: id, spanId: span }) => `00-${id}-${span}-01`);
    assert.deepEqual(new Set(parents.filter((parent) => ids.includes(parent ?? ''))), new Set(ids));
  });

  it('with the state that came with it', async () => {
    await using collector = await TraceCollector.start();
    await using authorization = await AuthorizationWebhook.start();
    authorization.verdict = () => ({ allowed: true });
    const flags = [...collector.flags(), ...authorization.flagsBeforeRbac()];
    await using server = await OrchProcess.start({ flags, within: soon });
    const parent = { traceparent: sampled, tracestate: 'vendor=state' };
    // Masters are asked about by nobody: a review of their access is.
    const review = {
      apiVersion: 'authorization.orch.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'somebody', resourceAttributes: { verb: 'get', resource: 'pods' } },
    };
    const path = '/apis/authorization.orch.io/v1/subjectaccessreviews';
    assert.equal((await server.post(path, review, { headers: { ...parent, 'audit-id': 'state' } })).status, 201);
    const trace = await collector.trace('state');
    const call = trace.find(({ kind }) => kind === clientKind) ?? assert.fail('nobody is asked');
    const [question] = authorization.of('somebody');
    assert.equal(question?.headers['traceparent'], `00-${traceId}-${call.spanId}-01`);
    assert.equal(question?.headers['tracestate'], 'vendor=state');
  });
});

describe('a collector', () => {
  const lost = async (server: OrchProcess, reason: string): Promise<number> => {
    const { text } = await server.get('/metrics');
    return Number(new RegExp(`^orch_traces_lost_spans_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  };

  it('at a socket gets spans', async () => {
    await using place = await TraceCollector.start();
    await using collector = await TraceCollector.start(`unix:${join(place.directory, 'socket')}`);
    await using server = await OrchProcess.start({ flags: collector.flags(all), within: soon });
    await server.get('/version', { headers: { 'audit-id': 'socket' } });
    assert.equal(root(await collector.trace('socket')).name, 'GET');
  });

  it('that is away stops nobody; spans are counted as lost, and it is used when it is back', async () => {
    const away = await TraceCollector.start();
    const { address } = away;
    const flags = away.flags(all);
    await using server = await OrchProcess.start({ flags, within: soon });
    await server.get('/version', { headers: { 'audit-id': 'before' } });
    await away.trace('before');
    away.stopServing();
    for (let sent = 0; sent < 50; sent++) assert.equal((await server.get(configMaps)).status, 200);
    await until(async () => (await lost(server, 'not_sent')) > 0, 'no spans are lost');
    assert.match(server.log, /spans cannot be sent/);
    await using back = await TraceCollector.start(address);
    await until(async () => {
      await server.get('/version', { headers: { 'audit-id': 'back' } });
      return back.spans.some(({ attributes }) => attributes['audit-id'] === 'back');
    }, 'no span comes');
    await away[Symbol.asyncDispose]();
  });

  it('that refuses or answers nonsense stops nobody', async () => {
    await using collector = await TraceCollector.start();
    collector.answer = (reply) => reply(null, Buffer.alloc(100_000, 0xff));
    await using server = await OrchProcess.start({ flags: collector.flags(all), within: soon });
    await server.get('/version', { headers: { 'audit-id': 'nonsense' } });
    await collector.trace('nonsense');
    collector.answer = (reply) => reply({ code: 3, message: 'no' });
    await server.get('/version', { headers: { 'audit-id': 'refused' } });
    await collector.trace('refused');
    await until(async () => (await lost(server, 'not_sent')) > 0, 'no spans are lost');
    assert.equal(await server.stop(), 0);
  });

  it('that never answers holds up neither requests nor the stop, and what waits is bounded', async () => {
    await using collector = await TraceCollector.start();
    collector.answer = () => {};
    await using server = await OrchProcess.start({ flags: collector.flags(all), within: soon });
    await until(() => collector.messages.length > 0, 'nothing is sent');
    const burst = async (): Promise<boolean> => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => server.get(configMaps)));
      assert.ok(answers.every(({ status }) => status === 200));
      return (await lost(server, 'queue_full')) > 0;
    };
    await until(burst, 'all spans are kept');
    assert.equal(await server.stop(), 0);
    assert.match(server.log, /spans were not sent in time/);
  });
});
