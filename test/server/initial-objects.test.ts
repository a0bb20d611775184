import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseStored } from '../../src/codec/json.ts';
import type { Dialect } from '../../src/dialect/dialect.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { serverUser } from '../../src/server/upkeep/bootstrap.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { openStore } from '../../src/store/open.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';

/** What a server finds of itself in an empty store it makes without requests, unless requests have to be seen. */

interface Started {
  /** By key, as they are stored. */
  readonly objects: ReadonlyMap<string, object>;
  readonly requests: number;
}

/** With an auditor, whose policy records nothing, everything is written by requests. */
const audited: Partial<ApiServerConfig> = {
  audit: {
    policy: { rules: [], omitStages: [], omitManagedFields: false },
    log: { mode: 'blocking', output: { type: 'standardOutput' }, format: 'json' },
  },
};

async function start(config: Partial<ApiServerConfig>): Promise<Started> {
  const store = await openStore({ backend: 'memory' });
  const environment = { ...systemEnvironment, openStore: async () => store };
  const server = await createApiServer({ ...memoryConfiguration, joinPolicy: true, ...config }, environment);
  try {
    await server.start();
    await makeLater(server, config.dialect ?? orch);
    const objects = new Map<string, object>();
    for (const { collection } of server.resources.stored()) {
      for (const { key, bytes } of collection.snapshot().entries(collection.prefix))
        objects.set(key, withoutChance(parseStored(bytes)));
    }
    const { body } = await server
      .transportAs({ username: 'root', uid: '', groups: ['system:masters'], extra: {} })
      .send({ method: 'GET', target: '/metrics' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const posts = Buffer.concat(chunks)
      .toString()
      .split('\n')
      .filter((line) => /^apiserver_request_total\{.*verb="(POST|create)"/i.test(line));
    return { objects, requests: posts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0) };
  } finally {
    await server.stop();
  }
}

/** What is made once the server listens: connection data for nodes. */
async function makeLater(server: ApiServer, { namespaces, domain, apiServer }: Dialect): Promise<void> {
  const object = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name: 'later', namespace: namespaces.public, annotations: { [`${domain}/autoupdate`]: 'true' } },
    data: { kubeconfig: 'x' },
  };
  const isMade = await server.createInitial(object);
  const path = `/api/v1/namespaces/${namespaces.public}/configmaps`;
  if (!isMade) await server.clientAs(serverUser, apiServer).create(path, object);
  // It is there, and left alone.
  assert.equal(await server.createInitial(object), false);
}

/** Without what is another one each time. */
function withoutChance(value: unknown): object {
  const own = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'time']);
  const text = JSON.stringify(value, (name, each) => (own.has(name) ? typeof each : each));
  return JSON.parse(text) as object;
}

for (const dialect of [orch, kubernetes]) {
  describe(`initial objects, dialect ${dialect.name}`, () => {
    it('are those that requests make', async () => {
      const [direct, requested] = [await start({ dialect }), await start({ dialect, ...audited })];
      assert.ok(direct.objects.size > 100, String(direct.objects.size));
      assert.deepEqual([...direct.objects.keys()].sort(), [...requested.objects.keys()].sort());
      for (const [key, object] of direct.objects) assert.deepEqual(object, requested.objects.get(key), key);
      assert.ok(requested.requests > 100, String(requested.requests));
      assert.ok(direct.requests < requested.requests - 100, String(direct.requests));
      const texts = [...direct.objects.values()].map((object) => JSON.stringify(object)).join('');
      const managers = new Set([...texts.matchAll(/"manager":"([^"]*)"/g)].map(([, manager]) => manager));
      assert.deepEqual(managers, new Set([dialect.name === 'orch' ? 'orch' : 'kube-apiserver']));
    });
  });
}
