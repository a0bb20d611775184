import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { DocumentForms, writeDocument } from '../../content/document-forms.ts';
import { Negotiator } from '../../content/negotiation.ts';
import { orch } from '../../dialect/orch.ts';
import { kinds } from '../../kinds/kinds.ts';
import { noSuchPath, StatusError } from '../../meta/status-error.ts';
import { ApiDocuments } from '../../registry/documents/documents.ts';
import { withoutObjects } from '../../registry/registry-fixture.ts';
import { Health } from '../upkeep/health.ts';
import { ExchangeFixture } from './exchange-fixture.ts';
import { routes } from './routes.ts';

const metrics = new Metrics();
metrics.counter({ name: 'test_total', help: 'A count.', labels: [] }).add({});
const clock = new ManualClock();
const health = new Health({
  clock,
  logger: silentLogger,
  dialect: orch,
  livezGraceMs: 0,
  stopping: () => false,
  cacheProblem: () => undefined,
  storeProblem: () => undefined,
  writeProblem: () => undefined,
});
health.started();
const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, withoutObjects(kinds(orch)), () => '');
/** Forms of documents that were made elsewhere. */
const elsewhere: string[] = [];
const router = routes({
  forms: new DocumentForms(),
  heavy: {
    takesDocument: (_document, form) => form === 'yaml' || form === 'protobuf',
    document: async (document, form) => {
      elsewhere.push(form);
      return writeDocument(document, form);
    },
  },
  clock,
  dialect: orch,
  documents,
  notServed: noSuchPath,
  health,
  metrics,
  negotiator: new Negotiator(orch, new Set()),
  compresses: true,
  issuerDiscovery: undefined,
  flowTable: (name, includeRequestDetails) => `${name} ${includeRequestDetails}\n`,
});

async function get(
  target: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<ExchangeFixture> {
  const exchange = new ExchangeFixture(method, target, { headers });
  const path = target.split('?', 1)[0] ?? '';
  await router.find(method, path)(exchange, path);
  return exchange;
}

const rejected = (target: string, code: number, method = 'GET'): Promise<void> =>
  assert.rejects(
    get(target, {}, method),
    (error) => error instanceof StatusError && error.code === code,
    `${method} ${target}`,
  );

describe('what is served', () => {
  for (const [target, type, text] of [
    [
      '/',
      'application/json',
      /"paths":\["\/api","\/api\/v1","\/apis","\/apis\/","\/apis\/admissionregistration\.orch\.io"/,
    ],
    ['/version', 'application/json', /"major":"1","minor":"32","gitVersion":"v1\.32\.0\+orch"/],
    ['/metrics', 'text/plain; version=0.0.4; charset=utf-8', /^test_total 1$/m],
    ['/debug/api_priority_and_fairness/dump_queues', 'text/plain; charset=utf-8', /^dump_queues false$/m],
    [
      '/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1',
      'text/plain; charset=utf-8',
      /^dump_requests true$/m,
    ],
    ['/healthz', 'text/plain; charset=utf-8', /^ok$/],
    ['/livez/ping', 'text/plain; charset=utf-8', /^ok$/],
    ['/readyz?verbose', 'text/plain; charset=utf-8', /^\[\+\]store ok$/m],
    ['/readyz?verbose&exclude=store', 'text/plain; charset=utf-8', /^\[\+\]store excluded: ok$/m],
    ['/api', 'application/json', /"kind":"APIVersions"/],
    ['/api/v1', 'application/json', /"kind":"APIResourceList"/],
    ['/api/v1/', 'application/json', /"kind":"APIResourceList"/],
    ['/apis', 'application/json', /"kind":"APIGroupList"/],
    ['/apis/coordination.orch.io', 'application/json', /"kind":"APIGroup"/],
    ['/apis/coordination.orch.io/v1', 'application/json', /"groupVersion":"coordination\.orch\.io\/v1"/],
    ['/openapi/v2', 'application/json', /"swagger":"2\.0"/],
    ['/openapi/v3', 'application/json', /"\/openapi\/v3\/api\/v1\?hash=/],
    ['/openapi/v3/api/v1', 'application/json', /"openapi":"3\.0\.0"/],
    ['/openapi/v3/api/v1?hash=', 'application/json', /"openapi":"3\.0\.0"/],
    ['/openapi/v3/apis/coordination.orch.io/v1', 'application/json', /"openapi":"3\.0\.0"/],
    ['/openapi/v3/apis/coordination.orch.io', 'application/json', /"getCoordinationAPIGroup"/],
    ['/openapi/v3/api', 'application/json', /"getCoreAPIVersions"/],
    ['/openapi/v3/version', 'application/json', /"getCodeVersion"/],
  ] as const) {
    test(target, async () => {
      const { status, headers, text: body } = await get(target);
      assert.equal(status, 200);
      assert.equal(headers['content-type'], type);
      assert.match(body, text);
    });
  }

  for (const target of [
    '/nosuch',
    '/healthzz',
    '/livez/nosuch',
    '/api/v2',
    '/api/v1/nosuch/x',
    '/apis/nosuch',
    '/apis//',
    '/apis//v1',
    '/apis/coordination.orch.io/v2',
    '/apis/coordination.orch.io/v1/x/y',
    '/openapi',
    '/openapi/v3/v2',
    '/openapi/v3/api/v2',
    '/openapi/v3/api/v1/x',
    '/openapi/v3/apis/nosuch',
    '/openapi/v3/apis//v1',
    '/openapi/v3/nosuch/coordination.orch.io/v1',
    '/openapi/v3/__proto__/v1',
  ]) {
    test(`not ${target}`, () => rejected(target, 404));
  }

  test('for reading only', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const target of ['/', '/version', '/readyz', '/api', '/api/v1', '/openapi/v3/api/v1']) {
        await rejected(target, 405, method);
      }
    }
    assert.equal((await get('/version', {}, 'HEAD')).status, 200);
  });
});

describe('a document', () => {
  test('is available as YAML and pretty-printed', async () => {
    const json = JSON.parse((await get('/api/v1')).text);
    const yaml = await get('/api/v1', { accept: 'application/yaml' });
    assert.equal(yaml.headers['content-type'], 'application/yaml');
    assert.deepEqual(parse(yaml.text), json);
    const pretty = await get('/api/v1', { 'user-agent': 'curl/8' });
    assert.ok(pretty.text.split('\n').length > 10);
    assert.deepEqual(JSON.parse(pretty.text), json);
  });

  test('is compressed for clients that accept it', async () => {
    const plain = await get('/openapi/v3/api/v1');
    const small = await get('/api', { 'accept-encoding': 'gzip' });
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.equal(small.text, (await get('/api')).text);
  });

  test('in an unknown format is a 406', async () => {
    await assert.rejects(
      get('/api', { accept: 'image/png' }),
      (error) => error instanceof StatusError && error.code === 406,
    );
  });

  for (const target of ['/api', '/apis', '/api/v1', '/apis/coordination.orch.io', '/openapi/v2', '/openapi/v3']) {
    test(`is 304 for clients that cached it: ${target}`, async () => {
      const first = await get(target);
      const etag = String(first.headers['etag']);
      assert.match(etag, /^"[0-9A-F]{128}"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get(target, { 'if-none-match': known });
        assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag], known);
      }
      for (const other of ['"other"', etag.replaceAll('"', ''), '']) {
        assert.equal((await get(target, { 'if-none-match': other })).status, 200, other);
      }
    });
  }
});

test('/ lists every path that is served, sorted, and nothing else', async () => {
  const { paths } = JSON.parse((await get('/')).text) as { readonly paths: readonly string[] };
  assert.deepEqual(paths, [...new Set(paths)].sort());
  for (const expected of [
    ...['/api', '/api/v1', '/apis', '/apis/', '/apis/coordination.orch.io', '/apis/coordination.orch.io/v1'],
    ...['/healthz', '/healthz/ping', '/livez', '/livez/poststarthook/start-server', '/readyz', '/readyz/shutdown'],
    ...['/metrics', '/openapi/v2', '/openapi/v3', '/openapi/v3/', '/version'],
  ]) {
    assert.ok(paths.includes(expected), expected);
  }
  assert.ok(!paths.includes('/'));
  for (const path of paths) if (path !== '/openapi/v3/') assert.equal((await get(path)).status, 200, path);
});

describe('an OpenAPI document by its hash', () => {
  const path = '/openapi/v3/apis/coordination.orch.io/v1';
  const hash = async (): Promise<string> => String((await get(path)).headers['etag']).replaceAll('"', '');

  for (const accept of ['application/json', 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf']) {
    test(`is immutable: ${accept}`, async () => {
      const answer = await get(`${path}?hash=${await hash()}`, { accept });
      const expires = Date.parse(String(answer.headers['expires']));
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['cache-control'], 'public, immutable');
      assert.equal(expires, Math.trunc((clock.now() + 365 * 24 * 3600_000) / 1_000) * 1_000);
      assert.match(String(answer.headers['expires']), /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/);
      assert.equal(answer.headers['vary'], 'accept, accept-encoding');
      const known = { accept, 'if-none-match': String(answer.headers['etag']) };
      const again = await get(`${path}?hash=${await hash()}`, known);
      assert.deepEqual([again.status, again.headers['cache-control']], [304, 'public, immutable']);
    });
  }

  for (const query of ['hash=0', 'hash=whatever&x=y', 'hash=%2F%2Fevil.example', 'x=y&hash=__proto__']) {
    test(`with another hash redirects to the current one: ${query}`, async () => {
      const answer = await get(`${path}?${query}`);
      assert.equal(answer.status, 301);
      assert.deepEqual(answer.headers, { location: `${path}?hash=${await hash()}` });
    });
  }

  test('is 404 if there is no such document', async () => {
    await rejected('/openapi/v3/apis/nosuch/v1?hash=0', 404);
  });

  test('is not immutable without a hash', async () => {
    for (const query of ['', '?hash=', '?x=y']) {
      const { status, headers } = await get(`${path}${query}`);
      assert.deepEqual([status, headers['cache-control'], headers['expires']], [200, undefined, undefined]);
    }
  });
});

describe('the entity tag of a document', () => {
  const forms: readonly Readonly<Record<string, string>>[] = [
    {},
    { 'accept-encoding': 'gzip' },
    { 'user-agent': 'curl/8' },
    { 'user-agent': 'curl/8', 'accept-encoding': 'gzip' },
    { accept: 'application/yaml' },
    { accept: 'application/yaml', 'accept-encoding': 'gzip' },
    { accept: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf' },
    { accept: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf', 'accept-encoding': 'gzip' },
  ];

  test('is of one format and coding (RFC 9110 section 8.8.3)', async () => {
    const target = '/openapi/v3/apis/coordination.orch.io/v1';
    const tags = await Promise.all(forms.map(async (headers) => String((await get(target, headers)).headers['etag'])));
    assert.equal(new Set(tags).size, forms.length);
    for (const [at, headers] of forms.entries()) {
      for (const [of, tag] of tags.entries()) {
        const again = await get(target, { ...headers, 'if-none-match': tag });
        assert.equal(again.status, at === of ? 304 : 200, `${JSON.stringify(headers)} ${tag}`);
        assert.equal(again.headers['vary'], 'accept, accept-encoding');
      }
    }
  });

  test('does not prevent a 406', async () => {
    const etag = String((await get('/api')).headers['etag']);
    await assert.rejects(
      get('/api', { accept: 'image/png', 'if-none-match': etag }),
      (error) => error instanceof StatusError && error.code === 406,
    );
  });
});

describe('OpenAPI in protobuf', () => {
  const json = 'application/json';
  for (const [version, target] of [
    [2, '/openapi/v2'],
    [3, '/openapi/v3/api/v1'],
  ] as const) {
    const protobuf = `application/com.github.proto-openapi.spec.v${version}.v1.0+protobuf`;
    const old = `application/com.github.proto-openapi.spec.v${version}@v1.0+protobuf`;

    for (const [accept, type] of [
      ['', json],
      ['*/*', json],
      ['application/*', json],
      [protobuf, protobuf],
      [old, protobuf],
      [`${json}, ${protobuf}`, json],
      [`${protobuf}, ${json}`, protobuf],
      [`${old}, ${json}`, protobuf],
      [`${old};q=0.5, ${json}`, json],
      [`application/test, ${old}`, protobuf],
      [`application/test, */*`, json],
    ] as const) {
      test(`${target} for ${accept || 'no Accept'}: ${type}`, async () => {
        const answer = await get(target, accept === '' ? {} : { accept });
        assert.equal(answer.headers['content-type'], type);
        assert.equal(answer.text.startsWith('{'), type === json);
      });
    }

    const other = `application/com.github.proto-openapi.spec.v${version === 2 ? 3 : 2}.v1.0+protobuf`;
    for (const accept of [other, 'application/test', 'application/vnd.orch.protobuf']) {
      test(`${target} for ${accept}: none that there is`, async () => {
        await assert.rejects(get(target, { accept }), (error) => error instanceof StatusError && error.code === 406);
      });
    }
  }

  test('is no format of other documents', async () => {
    const accept = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
    for (const target of ['/api', '/openapi/v3', '/version']) {
      await assert.rejects(get(target, { accept }), (error) => error instanceof StatusError && error.code === 406);
    }
  });
});

describe('the aggregated form', () => {
  const aggregated = 'application/json;g=apidiscovery.orch.io;v=v2;as=APIGroupDiscoveryList';
  const beta = aggregated.replace('v=v2', 'v=v2beta1');
  const plain = 'application/json';

  for (const [accept, expected] of [
    [aggregated, aggregated],
    [beta, beta],
    [`${aggregated},application/json`, aggregated],
    [`${aggregated},${beta},application/json`, aggregated],
    [`${beta},${aggregated},application/json`, beta],
    [`${beta};q=0.5,${aggregated};q=0.9,application/json;q=0.1`, aggregated],
    [`application/json,${aggregated}`, plain],
    [`application/json;q=0.5,${aggregated}`, aggregated],
    [`application/json,${aggregated};q=0.5`, plain],
    [`*/*,${aggregated}`, aggregated],
    [`image/png,${aggregated}`, aggregated],
    [`${aggregated};q=0,application/json`, plain],
    [`${aggregated};q=0,${beta}`, beta],
    [`${beta},application/json`, beta],
    [`${aggregated.replace('v=v2', 'v=v2alpha1')},application/json`, plain],
    [aggregated.replace('json', 'vnd.orch.protobuf'), aggregated.replace('json', 'vnd.orch.protobuf')],
    [`${beta.replace('json', 'yaml')},${plain}`, beta.replace('json', 'yaml')],
    [`application/cbor;g=apidiscovery.orch.io;v=v2;as=APIGroupDiscoveryList,${plain}`, plain],
    [aggregated.replace('orch.io', 'other.io'), undefined],
    [aggregated.replace('v=v2', 'v=constructor'), undefined],
    [plain, plain],
    ['', plain],
  ] as const) {
    test(`${accept || 'no Accept'}: ${expected ?? 'none that there is'}`, async () => {
      for (const target of ['/api', '/apis']) {
        const asked = get(target, accept === '' ? {} : { accept });
        if (expected === undefined) {
          await assert.rejects(asked, (error) => error instanceof StatusError && error.code === 406);
          continue;
        }
        const { text, headers } = await asked;
        assert.equal(text.includes('APIGroupDiscoveryList'), expected !== plain, target);
        const version = `apidiscovery.orch.io/${expected.includes('v2beta1') ? 'v2beta1' : 'v2'}`;
        if (expected !== plain) assert.match(text, new RegExp(`${version}(?!\\w)`));
        assert.equal(headers['content-type'], expected);
        assert.equal(headers['vary'], 'accept, accept-encoding');
      }
    });
  }

  test('has an entity tag of its own', async () => {
    const plain = await get('/apis');
    const whole = await get('/apis', { accept: aggregated });
    assert.notEqual(whole.headers['etag'], plain.headers['etag']);
    const again = await get('/apis', { accept: aggregated, 'if-none-match': String(whole.headers['etag']) });
    assert.equal(again.status, 304);
    const other = await get('/apis', { accept: aggregated, 'if-none-match': String(plain.headers['etag']) });
    assert.equal(other.status, 200);
  });
});

test('forms of large documents are made elsewhere, once for all who ask', async () => {
  elsewhere.length = 0;
  const ask = (accept: string) => get('/openapi/v3/api/v1', { accept });
  const answers = await Promise.all([ask('application/json'), ...Array(3).fill('application/yaml').map(ask)]);
  answers.push(await ask('application/yaml'));
  assert.deepEqual(elsewhere, ['yaml']);
  const [json, ...yaml] = answers.map(({ text }) => text);
  assert.deepEqual(parse(yaml[0] ?? ''), JSON.parse(json ?? ''));
  assert.equal(new Set(yaml).size, 1);
});
