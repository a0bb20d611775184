import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { until } from '../../src/base/waits-fixture.ts';
import { AuditedServer, AuditWebhook, policyOf } from '../support/audit.ts';

/** Where events go, and what becomes of them when that is in trouble. */

const secrets = '/api/v1/namespaces/default/secrets';
/** Everything in one namespace, and nothing of the server's own. */
const policy = policyOf([
  { level: 'Request', namespaces: ['default'], resources: [{ group: '', resources: ['secrets'] }] },
]);
const late = policyOf([{ level: 'Request', namespaces: ['default'] }], { omitStages: ['RequestReceived'] });
const ids = (from: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${from}-${at}`);
const full = '--audit-log-path=/dev/full';

const read = async ({ process }: AuditedServer, id: string): Promise<number> =>
  (await process.get(secrets, { headers: { 'audit-id': id } })).status;

describe('the modes of the audit log', () => {
  for (const mode of ['blocking', 'blocking-strict']) {
    it(`${mode}: the event is there before the answer`, async () => {
      await using server = await AuditedServer.start(policy, [`--audit-log-mode=${mode}`]);
      for (const id of ids('read', 50)) {
        assert.equal(await read(server, id), 200);
        assert.equal(server.events(id).length, 2);
      }
    });
  }

  it('batch: events come later, and none is lost at a stop', async () => {
    await using server = await AuditedServer.start(policy, [
      '--audit-log-mode=batch',
      '--audit-log-batch-max-size=100000',
      '--audit-log-batch-max-wait=1h',
    ]);
    const sent = ids('read', 100);
    assert.deepEqual(new Set(await Promise.all(sent.map((id) => read(server, id)))), new Set([200]));
    assert.deepEqual(server.events(), []);
    assert.equal(await server.process.stop(), 0);
    assert.equal(server.events().length, 200);
    assert.deepEqual(new Set(server.events().map(({ auditID }) => auditID)), new Set(sent));
  });

  it('batch: what does not fit is lost, counted and logged once', async () => {
    await using server = await AuditedServer.start(policy, [
      '--audit-log-mode=batch',
      '--audit-log-batch-max-size=1000',
      '--audit-log-batch-max-wait=1h',
      '--audit-log-batch-buffer-size=10',
    ]);
    for (const id of ids('read', 20)) assert.equal(await read(server, id), 200);
    assert.equal(await server.metric('apiserver_audit_error_total{plugin="buffered"}'), 30);
    assert.equal(server.process.log.match(/audit events were lost/g)?.length, 1);
    await server.process.stop();
    assert.equal(server.events().length, 10);
  });

  for (const [mode, status] of [
    ['blocking', 201],
    ['batch', 201],
    ['blocking-strict', 500],
  ] as const) {
    it(`${mode}: a full disk ${status === 500 ? 'refuses requests before they do anything' : 'stops nobody'}`, async () => {
      await using server = await AuditedServer.start(policy, [`--audit-log-mode=${mode}`, full]);
      const { json, ...answer } = await server.process.post<{ message: string }>(secrets, { metadata: { name: 'a' } });
      assert.equal(answer.status, status);
      if (status === 500) assert.match(json.message, /failed to store audit event/);
      await until(async () => (await server.metric('apiserver_audit_error_total{plugin="log"}')) >= 1, 'not counted');
      assert.equal(await server.metric('apiserver_audit_requests_rejected_total'), status === 500 ? 1 : 0);
      const all = '/api/v1/secrets?fieldSelector=metadata.name%3Da';
      const { items } = (await server.process.get<{ items: readonly object[] }>(all)).json;
      assert.equal(items.length, status === 500 ? 0 : 1);
      assert.match(server.process.log, /audit events were lost.*ENOSPC/);
      assert.doesNotMatch((await server.process.get('/readyz')).text, /fail/);
    });
  }

  it('blocking-strict: what is omitted refuses nobody', async () => {
    await using server = await AuditedServer.start(late, ['--audit-log-mode=blocking-strict', full]);
    assert.equal(await read(server, 'a'), 200);
  });
});

describe('the audit log', () => {
  it('can be standard output', async () => {
    await using server = await AuditedServer.start(policy, ['--audit-log-path=-']);
    assert.equal(await read(server, 'to-output'), 200);
    await until(() => server.process.log.includes('"auditID":"to-output","stage":"ResponseComplete"'), 'not written');
  });

  it('can be in the legacy format', async () => {
    await using server = await AuditedServer.start(policy, ['--audit-log-format=legacy']);
    assert.equal(await read(server, 'as-text'), 200);
    assert.match(
      server.log,
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z AUDIT: id="as-text" stage="RequestReceived" ip="127\.0\.0\.1" method="list" user="orch-admin" groups="\\"system:masters\\",\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="default" uri="\/api\/v1\/namespaces\/default\/secrets" response="<deferred>"\n/,
    );
    assert.match(server.log, /stage="ResponseComplete" .* response="200"\n$/);
  });

  it('is renamed and compressed when it is full, and old files go', async () => {
    const flags = ['--audit-log-maxsize=1', '--audit-log-maxbackup=2', '--audit-log-maxage=1', '--audit-log-compress'];
    await using server = await AuditedServer.start(late, flags);
    const data = { text: 'x'.repeat(300_000) };
    for (const name of ids('large', 14)) {
      const { status } = await server.process.post(
        secrets,
        { metadata: { name }, data },
        { headers: { 'audit-id': name } },
      );
      assert.equal(status, 201);
    }
    await server.process.stop();
    const [older = '', newer = '', current] = server.files;
    assert.deepEqual([server.files.length, current], [3, 'audit.log']);
    const form = /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz$/;
    const renamed = [older, newer].map((name) => {
      assert.match(name, form);
      return gunzipSync(readFileSync(join(server.directory, name))).toString();
    });
    for (const text of [...renamed, server.log]) assert.ok(text.length <= 1024 * 1024 && text.endsWith('}\n'));
    const kept = `${renamed.join('')}${server.log}`.split('\n').slice(0, -1);
    const written = kept.map((line) => JSON.parse(line).auditID);
    assert.deepEqual(written, ids('large', 14).slice(-written.length), 'the last ones, in order, without a gap');
  });

  it('goes on after a restart', async () => {
    await using server = await AuditedServer.start(policy);
    await read(server, 'before');
    await server.process.stop();
    await server.process.restart();
    await read(server, 'after');
    assert.deepEqual(
      server.events().map(({ auditID }) => auditID),
      ['before', 'before', 'after', 'after'],
    );
  });

  it('truncates what is too large', async () => {
    const flags = [
      '--audit-log-truncate-enabled',
      '--audit-log-truncate-max-event-size=1500',
      '--audit-log-truncate-max-batch-size=2000',
    ];
    await using server = await AuditedServer.start(policy, flags);
    const [, small] = await server.ask('small', 'POST', secrets, { body: { metadata: { name: 'small' } } });
    const [, large] = await server.ask('large', 'POST', secrets, {
      body: { metadata: { name: 'large' }, data: { a: 'x'.repeat(2_000) } },
    });
    assert.deepEqual(
      [small?.requestObject !== undefined, small?.annotations?.['audit.orch.io/truncated']],
      [true, undefined],
    );
    assert.deepEqual([large?.requestObject, large?.annotations?.['audit.orch.io/truncated']], [undefined, 'true']);
    assert.equal(large?.responseStatus?.code, 201);
    const long = await server.process.get(secrets, {
      headers: { 'user-agent': 'x'.repeat(1_500), 'audit-id': 'long' },
    });
    assert.deepEqual([long.status, server.events('long')], [200, []]);
    assert.equal(await server.metric('apiserver_audit_error_total{plugin="truncate"}'), 2);
  });
});

describe('the audit webhook', () => {
  const webhookFlags = (webhook: AuditWebhook, ...flags: string[]) => [
    `--audit-webhook-config-file=${webhook.connectionFile()}`,
    '--audit-webhook-initial-backoff=10ms',
    ...flags.map((flag) => `--audit-webhook-${flag}`),
  ];

  it('may be without TLS, which the log tells', async () => {
    const seen: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly kind: unknown }[] = [];
    const plain = createServer(async (request, response) => {
      const { kind } = (await json(request)) as { kind: unknown };
      seen.push({ url: request.url ?? '', headers: request.headers, kind });
      response.end('{}');
    });
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const { port } = plain.address() as AddressInfo;
    await using webhook = await AuditWebhook.start();
    const file = webhook.connectionFile({ server: `http://127.0.0.1:${port}/audit?x=1` }, { token: 'shown' });
    await using server = await AuditedServer.start(policy, [
      `--audit-webhook-config-file=${file}`,
      '--audit-webhook-batch-max-wait=10ms',
    ]);
    await read(server, 'plain');
    await until(() => seen.length > 0, 'no event');
    const [{ url, headers, kind } = assert.fail()] = seen;
    assert.deepEqual([url, headers.authorization, kind], ['/audit?x=1', 'Bearer shown', 'EventList']);
    assert.match(server.process.log, /a webhook is asked without TLS: .*credential/);
    assert.doesNotMatch(server.process.log, /shown/);
    plain.close();
    plain.closeAllConnections();
  });

  it('gets events in batches', async () => {
    await using webhook = await AuditWebhook.start();
    await using server = await AuditedServer.start(
      policy,
      webhookFlags(webhook, 'batch-max-size=4', 'batch-max-wait=1h'),
    );
    for (const id of ids('read', 5)) await read(server, id);
    await until(() => webhook.batches.length === 2, 'no batches');
    assert.deepEqual(
      webhook.batches.map((batch) => batch.length),
      [4, 4],
    );
    assert.equal(await server.process.stop(), 0);
    assert.equal(webhook.events.length, 10, 'what waited is sent at the stop');
    assert.deepEqual([...webhook.kinds], ['audit.orch.io/v1 EventList']);
    assert.equal(webhook.events[0]?.user.username, 'orch-admin');
  });

  it('gets them after a while even if a batch is not full', async () => {
    await using webhook = await AuditWebhook.start();
    await using server = await AuditedServer.start(policy, webhookFlags(webhook, 'batch-max-wait=20ms'));
    await read(server, 'alone');
    await until(() => webhook.events.length === 2, 'no events');
  });

  it('gets them beside the log', async () => {
    await using webhook = await AuditWebhook.start();
    const flags = [...webhookFlags(webhook, 'mode=blocking'), '--audit-log-path=-'];
    await using server = await AuditedServer.start(policy, flags);
    await read(server, 'both');
    assert.deepEqual(
      webhook.events.map(({ auditID }) => auditID),
      ['both', 'both'],
    );
    await until(() => server.process.log.includes('"auditID":"both"'), 'not in the log');
  });

  it('that fails gets them again', async () => {
    await using webhook = await AuditWebhook.start();
    webhook.answer = (response) => {
      response.statusCode = webhook.requests % 3 === 0 ? 200 : 503;
      response.end();
      return response.statusCode === 200;
    };
    await using server = await AuditedServer.start(policy, webhookFlags(webhook, 'mode=blocking'));
    assert.equal(await read(server, 'again'), 200);
    assert.deepEqual([webhook.requests, webhook.events.length], [6, 2]);
    assert.equal(await server.metric('apiserver_audit_error_total{plugin="webhook"}'), Number.NaN);
  });

  it('that is slow holds up nobody in mode batch, and loses nothing', async () => {
    await using webhook = await AuditWebhook.start();
    const { promise, resolve } = Promise.withResolvers<void>();
    webhook.answer = async (response) => {
      await promise;
      response.end();
      return true;
    };
    await using server = await AuditedServer.start(
      policy,
      webhookFlags(webhook, 'batch-max-size=2', 'batch-throttle-enable=false'),
    );
    for (const id of ids('read', 100)) assert.equal(await read(server, id), 200);
    assert.ok(webhook.requests <= 20, 'not more than so many at once');
    resolve();
    await until(
      () => webhook.events.length === 200,
      () => `only ${webhook.events.length} events`,
    );
  });

  for (const [what, cluster] of [
    ['is down', { server: 'https://127.0.0.1:1/events' }],
    ['is another server', { 'tls-server-name': 'other.example.com' }],
  ] as const) {
    it(`that ${what} stops nobody, unless requests must be recorded`, async () => {
      await using webhook = await AuditWebhook.start();
      const flags = webhookFlags(webhook, 'mode=blocking-strict');
      webhook.connectionFile(cluster);
      await using server = await AuditedServer.start(policy, flags);
      const refused = await server.process.post(secrets, { metadata: { name: 'a' } });
      assert.equal(refused.status, 500);
      assert.equal((await server.process.get(`/api/v1/namespaces/kube/secrets/a`)).status, 404);
      assert.equal(await server.metric('apiserver_audit_error_total{plugin="webhook"}'), 1);
      assert.equal(await server.metric('apiserver_audit_requests_rejected_total'), 1);
      assert.deepEqual([webhook.requests, await server.process.stop()], [0, 0]);
    });
  }

  it('that is down does not keep the server from stopping in mode batch', async () => {
    await using webhook = await AuditWebhook.start();
    const flags = webhookFlags(webhook, 'batch-max-wait=1h', 'initial-backoff=1h');
    webhook.connectionFile({ server: 'https://127.0.0.1:1/events' });
    await using server = await AuditedServer.start(policy, flags);
    await read(server, 'lost');
    assert.equal(await server.process.stop(), 0);
    assert.match(server.process.log, /audit events were lost.*plugin="webhook" events=2/);
  });

  it('gets smaller batches where events are truncated', async () => {
    await using webhook = await AuditWebhook.start();
    const truncate = ['truncate-enabled', 'truncate-max-event-size=1200', 'truncate-max-batch-size=1500'];
    await using server = await AuditedServer.start(policy, webhookFlags(webhook, 'batch-max-size=6', ...truncate));
    for (const id of ids('read', 3)) await read(server, id);
    await until(() => webhook.events.length === 6, 'no events');
    assert.ok(webhook.batches.length > 1);
  });
});
