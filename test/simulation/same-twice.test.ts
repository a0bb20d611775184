import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPlugins } from '../../src/admission/plugins.ts';
import { ManualClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { seededRandom } from '../../src/base/random.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { defaultFeatures } from '../../src/server/wiring/features.ts';

/** A whole server, from its start to its end, without a socket, a file or a timer of the machine. */

const config: ApiServerConfig = {
  dialect: dialects.orch,
  storage: { backend: 'memory' },
  requests: { inFlightMax: { reads: 400, writes: 200 }, timeoutMs: 60_000, watchMsMin: 1_800_000 },
  authentication: {
    staticTokens: [],
    apiAudiences: [],
    bootstrapTokens: false,
    anonymous: false,
    anonymousGiven: true,
  },
  authorization: { chain: { type: 'specs', specs: [{ type: 'RBAC', name: 'rbac' }] } },
  livezGraceMs: 0,
  shutdownDelayMs: 0,
  timesToLiveMs: { event: 3600_000 },
  features: defaultFeatures,
  admissionPlugins: defaultPlugins,
  controllers: { run: [], rootAuthority: '' },
  logger: silentLogger,
  accessLog: false,
};

const admin = { username: 'root', uid: '', groups: ['system:masters'], extra: {} };
const core = '/api/v1';
const configMaps = `${core}/namespaces/default/configmaps`;
const write = (
  method: ClientRequest['method'],
  target: string,
  body: unknown,
  contentType = 'application/json',
): ClientRequest => ({
  method,
  target,
  headers: { 'content-type': contentType },
  body: JSON.stringify(body),
});
const get = (target: string): ClientRequest => ({ method: 'GET', target });
const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

const requests: readonly ClientRequest[] = [
  get('/readyz'),
  get(`${core}/namespaces`),
  get('/apis/rbac.authorization.orch.io/v1/clusterroles'),
  write('POST', configMaps, { metadata: { generateName: 'made-' }, data: { a: '1' } }),
  write('POST', configMaps, named('one')),
  write('POST', configMaps, named('one')),
  write('PUT', `${configMaps}/one`, { ...named('one'), data: { b: '2' } }),
  write(
    'PATCH',
    `${configMaps}/two?fieldManager=m`,
    { ...named('two'), data: { c: '3' } },
    'application/apply-patch+yaml',
  ),
  get(`${configMaps}?limit=2`),
  { ...get(configMaps), headers: { accept: 'application/json;as=Table;g=meta.orch.io;v=v1' } },
  { method: 'DELETE', target: `${configMaps}/one` },
  get(`${configMaps}/one`),
  get('/apis'),
];

/** All that a server of this seed answers, with the time going on between requests. */
async function answersOf(seed: number): Promise<readonly string[]> {
  const clock = new ManualClock();
  const { openStore } = systemEnvironment;
  const noFiles = (): never => assert.fail('no file is looked at');
  const files = { read: noFiles, stamp: noFiles };
  const server = await createApiServer(config, { clock, random: seededRandom(seed), files, openStore });
  try {
    await server.start();
    const transport = server.transportAs(admin);
    const answers: string[] = [];
    for (const request of requests) {
      clock.advance(1_500);
      const { status, body } = await transport.send(request);
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      answers.push(`${request.method} ${request.target} ${status} ${Buffer.concat(chunks)}`);
    }
    return answers;
  } finally {
    await server.stop();
    await server.done;
    assert.equal(clock.pending, 0, 'timers are left');
  }
}

test('a server with a seed answers the same, byte for byte, each time', async () => {
  const [first, second, other] = [await answersOf(1), await answersOf(1), await answersOf(2)];
  assert.deepEqual(second, first);
  assert.deepEqual(
    first.map((answer) => Number(/ (\d{3}) /.exec(answer)?.[1])),
    [200, 200, 200, 201, 201, 409, 200, 201, 200, 200, 200, 404, 200],
  );
  assert.notDeepEqual(other, first);
});
