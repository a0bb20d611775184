import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePort } from '../../src/base/free-port-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import { isStoreError } from '../../src/store/store.ts';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Endpoints in `--etcd-servers` that are no etcd, and an etcd that has no room. */

interface Endpoint {
  readonly port: number;
  close(): Promise<void>;
}

const listening = async (server: Server): Promise<Endpoint> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    port: address.port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

const endpoints: readonly { readonly what: string; readonly open: () => Promise<Endpoint>; readonly reason: RegExp }[] =
  [
    {
      what: 'a server of HTTP that is no etcd',
      open: () => listening(createHttpServer((_, response) => response.end('hello'))),
      reason: /no etcd endpoint answers: http:\/\/127\.0\.0\.1:\d+: /,
    },
    {
      what: 'a port on which nothing listens',
      open: async () => ({ port: await freePort(), close: async () => {} }),
      reason: /no etcd endpoint answers: http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    },
    {
      what: 'a port that takes connections and says nothing',
      open: () => listening(createServer()),
      reason: /no etcd endpoint answers: http:\/\/127\.0\.0\.1:\d+: /,
    },
  ];

describe('an endpoint that is no etcd ends the start, 15 s after it is first asked at the latest', {
  concurrency: true,
  timeout: 120_000,
}, () => {
  for (const { what, open, reason } of endpoints) {
    test(what, async (context) => {
      const endpoint = await open();
      context.after(() => endpoint.close());
      const dataDir = mkdtempSync(join(tmpdir(), 'orch-test-'));
      context.after(() => rmSync(dataDir, { recursive: true, force: true }));
      const flags = [`--data-dir=${dataDir}`, '--secure-port=0'];
      const etcd = `http://127.0.0.1:${endpoint.port}`;
      await using command = new Command('up', ...flags, `--etcd-servers=${etcd}`);
      assert.equal(await command.exit(), 1);
      assert.match(command.err, reason);
      const startedAt = performance.now();
      await assert.rejects(openEtcdStore({ endpoints: [etcd] }), reason);
      const tookMs = performance.now() - startedAt;
      context.diagnostic(`after ${Math.round(tookMs)} ms: ${command.err.trim().split('\n').at(-1)}`);
      assert.ok(tookMs < 15_000, `${tookMs} ms`);
    });
  }
});

test('a full etcd: a running server reads and deletes on, and one that starts does', {
  skip: etcdMissing,
}, async () => {
  const etcd = await startEtcd({ flags: ['--quota-backend-bytes', '8000000'] });
  try {
    const flags = ['--dialect=kubernetes', `--etcd-servers=${etcd.endpoint}`];
    await using server = await OrchProcess.start({ flags });
    const path = '/api/v1/namespaces/default/configmaps';
    for (const name of ['a', 'b']) assert.equal((await server.post(path, { metadata: { name } })).status, 201);
    const data = { filler: 'x'.repeat(500_000) };
    const fill = async (index: number): Promise<void> => {
      const { status } = await server.post(path, { metadata: { name: `filler-${index}` }, data });
      if (status === 201) await fill(index + 1);
    };
    await fill(0);
    for (const name of ['a', 'b']) {
      const refused = await server.post(path, { metadata: { name: `more-than-${name}` } });
      assert.equal(refused.status, 503, refused.text);
      assert.match(refused.text, /the data store has no room left/);
      assert.equal((await server.get(`${path}/${name}`)).status, 200);
      assert.equal((await server.delete(`${path}/${name}`)).status, 200);
      assert.equal((await server.get(path)).status, 200);
      if (name === 'a') {
        await server.stop();
        await server.restart();
      }
    }
  } finally {
    await etcd.stop();
  }
});

test('a full etcd in which others delete: reads and watches follow', { skip: etcdMissing }, async () => {
  const etcd = await startEtcd({ flags: ['--quota-backend-bytes', '8000000'] });
  const others = await openEtcdStore({ endpoints: [etcd.endpoint], prefix: '/others' });
  try {
    const flags = ['--dialect=kubernetes', `--etcd-servers=${etcd.endpoint}`];
    await using server = await OrchProcess.start({ flags });
    const path = '/api/v1/namespaces/default/configmaps';
    for (const name of ['a', 'b']) assert.equal((await server.post(path, { metadata: { name } })).status, 201);
    const value = Buffer.alloc(500_000);
    const fill = (index: number): Promise<number> =>
      others.create(`/filler/${index}`, value).then(
        () => fill(index + 1),
        (error: unknown) => {
          assert.ok(isStoreError(error, 'full'), String(error));
          return index;
        },
      );
    assert.ok((await fill(0)) > 2);
    for (const name of ['a', 'b']) {
      assert.equal((await server.get(`${path}/${name}`)).status, 200);
      assert.equal((await server.delete(`${path}/${name}`)).status, 200);
      const { records } = await others.list('/filler/', { limit: 1 });
      const [filler] = records;
      assert.ok(filler);
      await others.delete(filler.key, filler.revision);
      const { status, json } = await server.get<{ readonly items: readonly ApiObject[] }>(path);
      assert.equal(status, 200);
      assert.ok(!json.items.some(({ metadata }) => metadata.name === name));
    }
  } finally {
    await others.close();
    await etcd.stop();
  }
});

test('a key of others below the prefix: the server goes on, and starts', { skip: etcdMissing }, async () => {
  const etcd = await startEtcd();
  try {
    const flags = ['--dialect=kubernetes', `--etcd-servers=${etcd.endpoint}`];
    await using server = await OrchProcess.start({ flags });
    const path = '/api/v1/namespaces/default/secrets';
    const key = Buffer.from('/registry/core/secrets/\xff\xfe', 'latin1').toString('base64');
    const body = JSON.stringify({ key, value: Buffer.from('x').toString('base64') });
    assert.ok((await fetch(`${etcd.endpoint}/v3/kv/put`, { method: 'POST', body })).ok);
    for (const name of ['a', 'b']) {
      assert.equal((await server.post(path, { metadata: { name } })).status, 201);
      const { status, json } = await server.get<{ readonly items: readonly ApiObject[] }>(path);
      assert.equal(status, 200);
      assert.ok(json.items.some(({ metadata }) => metadata.name === name));
      const metrics = (await server.get('/metrics')).text;
      assert.match(metrics, /^orch_storage_passed_over_keys_total [1-9]\d*$/m);
      assert.match(server.log, /a key in etcd that no server writes is passed over/);
      if (name === 'a') {
        await server.stop();
        await server.restart();
      }
    }
  } finally {
    await etcd.stop();
  }
});
