import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { metricsMediaType } from '../../src/base/metrics.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { openTls, requestText, sendRaw, withoutCertificate } from '../support/raw-client.ts';

/** What operators see of requests: an id on every answer, a line in the log, and metrics. */

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--v=3', '--cors-allowed-origins=^https://page.example$'] });
});
after(() => server[Symbol.asyncDispose]());

const configMaps = '/api/v1/namespaces/default/configmaps';
const lines = (text: string): readonly string[] => server.log.split('\n').filter((line) => line.includes(text));
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';

describe('every answer has an Audit-Id', () => {
  const upgrade = ['upgrade: websocket', 'sec-websocket-version: 13', `sec-websocket-key: ${'A'.repeat(22)}==`];
  const origin = 'origin: https://page.example';
  for (const [what, request, status] of [
    ['an object', requestText('GET', '/api/v1/namespaces/default'), 200],
    ['HEAD', requestText('HEAD', '/api/v1/namespaces/default'), 200],
    ['a document', requestText('GET', '/apis'), 200],
    ['health', requestText('GET', '/livez'), 200],
    ['a list', requestText('GET', configMaps), 200],
    ['a watch', requestText('GET', `${configMaps}?watch=1&timeoutSeconds=1`), 200],
    [
      'a watch over a WebSocket',
      requestText('GET', `${configMaps}?watch=1&timeoutSeconds=1`, ...upgrade).replace(
        'connection: close',
        'connection: upgrade',
      ),
      101,
    ],
    ['what is not there', requestText('GET', `${configMaps}/nope`), 404],
    ['what is not served', requestText('GET', '/apis/made.up/v1/things'), 404],
    ['a path that cannot be read', requestText('GET', '/api/v1/%zz'), 400],
    ['a method that is not served', requestText('DELETE', '/version'), 405],
    ['a method that is none', requestText('PROPFIND', configMaps), 405],
    ['a format that is not served', requestText('GET', configMaps, 'accept: image/png'), 406],
    ['two hosts', requestText('GET', '/livez', 'host: other'), 400],
    ['an expectation that nobody meets', requestText('GET', '/livez', 'expect: more'), 417],
    ['a token that is none', requestText('GET', configMaps, 'authorization: Bearer nobody'), 401],
    ['a preflight request', requestText('OPTIONS', configMaps, origin), 204],
    ['a request of a page', requestText('GET', '/livez', origin), 200],
  ] as const) {
    test(what, async () => {
      const asOther = what === 'a token that is none' ? withoutCertificate : {};
      const answer = await sendRaw(server, request, asOther);
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
      const ids = answer.match(/^audit-id: .*$/gim) ?? [];
      assert.equal(ids.length, 1, answer.slice(0, 500));
      assert.match(ids[0] ?? '', new RegExp(`^audit-id: ${uuid}\r?$`, 'i'));
    });
  }

  test('that of the client, where it sent one', async () => {
    const { headers } = await server.get('/version', { headers: { 'audit-id': 'chosen-by-client' } });
    assert.equal(headers['audit-id'], 'chosen-by-client');
  });
});

describe('the access log at --v=3', () => {
  test('has one line for each request, with the published fields', async () => {
    const headers = { 'audit-id': 'a-create', 'user-agent': 'test/1' };
    await server.post(
      `${configMaps}?fieldManager=m&access_token=hidden-value`,
      { metadata: { name: 'one' } },
      { headers },
    );
    await until(() => lines('a-create').length > 0, 'no line');
    assert.equal(lines('a-create').length, 1);
    assert.match(
      lines('a-create')[0] ?? '',
      /^I\d{4} \S+ +\d+ [\w.-]+:\d+\] "HTTP" verb="POST" URI="\/api\/v1\/namespaces\/default\/configmaps\?fieldManager=m&\*\*\*" latency="\d+\.\d{3}ms" userAgent="test\/1" audit-ID="a-create" srcIP="127\.0\.0\.1:\d+" resp=201$/,
    );
    assert.deepEqual(lines('hidden-value'), []);
  });

  test('has that of a watch when it is over', async () => {
    const path = `${configMaps}?watch=1&resourceVersionMatch=&labelSelector=its%3Dmine`;
    const watch = server.watch(path);
    await watch.until(({ status }) => status === 200);
    await server.get('/version', { headers: { 'audit-id': 'after-the-watch' } });
    await until(() => lines('after-the-watch').length > 0, 'no line');
    assert.deepEqual(lines('its%3Dmine'), []);
    watch.close();
    await until(() => lines('its%3Dmine').length > 0, 'no line');
    assert.match(lines('its%3Dmine')[0] ?? '', /"HTTP" verb="WATCH" .* resp=200 ending="clientGone"$/);
  });

  test('is not there below', async () => {
    await using quiet = await OrchProcess.start({ flags: ['--v=2'] });
    await quiet.get('/version');
    assert.doesNotMatch(quiet.log, /"HTTP" verb/);
  });
});

describe('metrics of requests', () => {
  const seriesValue = async (series: RegExp): Promise<number> => {
    const line = (await server.get('/metrics')).text.split('\n').find((each) => series.test(each));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  test('count them by what they are and what was answered', async () => {
    const made = /^apiserver_request_total\{verb="POST",group="",version="v1",resource="secrets",.*code="201"\}/;
    const before = await seriesValue(made);
    await server.post('/api/v1/namespaces/default/secrets', { metadata: { name: 'counted' } });
    await until(async () => (await seriesValue(made)) === before + 1, 'not counted');
    assert.ok((await seriesValue(/^apiserver_request_duration_seconds_count\{verb="POST".*resource="secrets"/)) >= 1);
    assert.ok((await seriesValue(/^apiserver_response_sizes_sum\{.*subresource="\/metrics"/)) > 1_000);
    assert.match((await server.get('/metrics')).text, /^nodejs_eventloop_lag_p99_seconds \d/m);
  });

  test('count what kube-apiserver counts', async () => {
    await assert.rejects(openTls(server, { ca: [] }));
    const watch = server.watch(
      `${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await watch.until(({ events }) => events.some(({ type }) => type === 'BOOKMARK'));
    watch.close();
    const own = /^apiserver_selfrequest_total\{verb="PATCH",resource="flowschemas",subresource="status"\}/;
    await until(async () => (await seriesValue(own)) > 0, 'no request of the server itself is counted');
    for (const series of [
      /^apiserver_tls_handshake_errors_total /,
      /^apiserver_watch_list_duration_seconds_count\{group="",version="v1",resource="configmaps",scope="namespace"\}/,
      /^apiserver_request_body_size_bytes_count\{resource="configmaps",verb="create"\}/,
      /^apiserver_client_certificate_expiration_seconds_count /,
      /^etcd_request_duration_seconds_count\{operation="create",type="configmaps"\}/,
      /^apiserver_admission_step_admission_duration_seconds_count\{type="admit",operation="CREATE",rejected="false"\}/,
      /^apiserver_admission_controller_admission_duration_seconds_count\{name="NamespaceLifecycle",type="admit",operation="CREATE",rejected="false"\}/,
      /^apiserver_flowcontrol_dispatched_requests_total\{priority_level="exempt",flow_schema="exempt"\}/,
      /^apiserver_flowcontrol_nominal_limit_seats\{priority_level="global-default"\}/,
      /^apiserver_request_filter_duration_seconds_count\{filter="authentication"\}/,
      /^apiserver_request_filter_duration_seconds_count\{filter="authorization"\}/,
      /^authentication_duration_seconds_count\{result="success"\}/,
      /^authenticated_user_requests\{username="other"\}/,
      /^authorization_duration_seconds_count\{result="allowed"\}/,
      /^orch_build_info\{major="1",minor="32",/,
      /^process_open_fds /,
      /^process_max_fds /,
      /^process_cpu_seconds_total /,
      /^process_virtual_memory_bytes /,
      /^process_start_time_seconds /,
      /^nodejs_heap_space_size_used_bytes\{space="old"\}/,
    ]) {
      assert.ok((await seriesValue(series)) > 0, String(series));
    }
  });

  test('are compressed for who accepts it', async () => {
    const { headers, bytes } = await server.get('/metrics', { headers: { 'accept-encoding': 'gzip' } });
    assert.deepEqual([headers['content-encoding'], headers['content-type']], ['gzip', metricsMediaType]);
    assert.match(gunzipSync(bytes).toString(), /^apiserver_request_total\{/m);
    const plain = await server.get('/metrics', { headers: { accept: 'application/openmetrics-text;version=1.0.0' } });
    assert.deepEqual([plain.headers['content-encoding'], plain.headers['content-type']], [undefined, metricsMediaType]);
  });

  test('count watches while they are open, and what they send', async () => {
    const sent = /^apiserver_watch_events_total\{group="",version="v1",kind="ConfigMap"\}/;
    const ofSecrets =
      /^apiserver_longrunning_requests\{verb="WATCH",group="",version="v1",resource="secrets",subresource="",scope="namespace"/;
    const before = [await seriesValue(ofSecrets), await seriesValue(sent)] as const;
    const watch = server.watch('/api/v1/namespaces/default/secrets?watch=1');
    const events = server.watch(`${configMaps}?watch=1`);
    await until(async () => (await seriesValue(ofSecrets)) === before[0] + 1, 'not counted');
    await server.post(configMaps, { metadata: { name: 'told' } });
    await events.until((each) => each.events.some(({ object }) => object.metadata.name === 'told'));
    assert.ok((await seriesValue(sent)) > before[1]);
    watch.close();
    events.close();
    await until(async () => (await seriesValue(ofSecrets)) === before[0], 'counted although it is over');
  });
});
