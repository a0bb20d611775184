import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { WebhookClient } from '../../admission/webhooks/webhook.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { bareWorld, TlsFixture } from '../../outbound/tls-fixture.ts';
import { WebhookConnections } from './webhook-connections.ts';

const noUsers = {};

describe('a webhook is told how long it is waited for', () => {
  const server = new TlsFixture(['127.0.0.1']);
  const clock = new ManualClock();
  const connections = new WebhookConnections({ ...bareWorld, clock, users: noUsers });
  const targets: string[] = [];
  before(async () => {
    await server.listen();
    server.handle = (request, response) => {
      targets.push(request.url ?? '');
      response.end('{}');
    };
  });
  after(async () => {
    connections.close();
    await server.close();
  });

  for (const [what, timeoutMs, leftMs, told] of [
    ['its own timeout, where the request has no deadline', 10_000, undefined, '10s'],
    ['its own timeout, where the request has more time', 10_000, 60_000, '10s'],
    ['what is left for the request', 10_000, 3_000, '3s'],
    ['what is left for the request, rounded up', 10_000, 2_001, '3s'],
    ['less than a second', 30_000, 1, '1s'],
    ['a request that ends just now', 30_000, 0, '1s'],
  ] as const) {
    it(`${what}; over the same connection`, async () => {
      const url = `https://127.0.0.1:${server.port}/judge?a=b`;
      const client: WebhookClient = {
        ...{ type: 'admit', url, service: undefined, authorities: server.authorities, timeoutMs },
      };
      const deadlineMs = leftMs === undefined ? undefined : clock.monotonic() + leftMs;
      const { status } = await connections.send(client, Buffer.from('{}'), {
        signal: new AbortController().signal,
        deadlineMs,
      });
      assert.deepEqual([status, targets.splice(0)], [200, [`/judge?a=b&timeout=${told}`]]);
      assert.equal(server.connections, 1);
    });
  }
});

describe('a failed call names its URL as Go does', () => {
  const service = { namespace: 'bar', name: 'foo', port: 443, path: '/p' };
  for (const [what, target, shown] of [
    ['a Service', { service }, 'https://foo.bar.svc:443/p?timeout=10s'],
    ['a Service with another port', { service: { ...service, port: 8443 } }, 'https://foo.bar.svc:8443/p?timeout=10s'],
    ['an address with the port of https', { url: 'https://127.0.0.1:443/a' }, 'https://127.0.0.1:443/a?timeout=10s'],
    ['IPv6 with the port of https', { url: 'https://[::1]:443' }, 'https://[::1]:443/?timeout=10s'],
    ['an address without a port', { url: 'https://127.0.0.1/a:443' }, 'https://127.0.0.1/a:443?timeout=10s'],
  ] as const) {
    it(what, async () => {
      const refused = {
        ...bareWorld.network,
        connect: () => ({ send: () => Promise.reject(new Error('x')), retire() {}, close() {} }),
      };
      const connections = new WebhookConnections({
        ...{ ...bareWorld, network: refused, clock: new ManualClock(), users: noUsers },
      });
      const client: WebhookClient = {
        ...{ type: 'admit', url: undefined, service: undefined, authorities: undefined, timeoutMs: 10_000 },
        ...target,
      };
      const sent = connections.send(client, Buffer.from('{}'), { signal: new AbortController().signal });
      await assert.rejects(sent, ({ message }: Error) => message.startsWith(`Post "${shown}": `));
      connections.close();
    });
  }
});
