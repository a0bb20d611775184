import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ClientRequest, ClientResponse } from '../../outbound/transport.ts';
import { startResourceQuota } from './resource-quota.ts';

/** A server with one quota, which cannot list some of what the quota counts. */
class BrokenServer {
  readonly quota: ApiObject = {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    metadata: { name: 'q', namespace: 'n', uid: 'u', resourceVersion: '1' },
    spec: { hard: { secrets: '5', 'count/gadgets.example.com': '5' } },
    status: { hard: {}, used: { 'count/gadgets.example.com': '3' } },
  };
  isBroken = true;
  readonly writes: unknown[] = [];

  readonly send = async ({ method, target, body }: ClientRequest): Promise<ClientResponse> => {
    if (method === 'PUT') this.writes.push(JSON.parse(String(body)).status);
    const [path = '', query = ''] = target.split('?');
    if (query.includes('watch=true')) return { status: 200, body: open() };
    const answer = method === 'PUT' ? JSON.parse(String(body)) : this.#read(path);
    return { status: answer ? 200 : 500, body: one(answer ?? { kind: 'Status', reason: 'InternalError', code: 500 }) };
  };

  #read(path: string): object | undefined {
    const list = (...items: object[]) => ({ metadata: { resourceVersion: '1' }, items });
    const object = (name: string) => ({ metadata: { name, namespace: 'n', resourceVersion: '1' } });
    const verbs = ['create', 'delete', 'list', 'watch'];
    const resources = (name: string, kind: string) => ({ resources: [{ name, kind, namespaced: true, verbs }] });
    const version = { groupVersion: 'example.com/v1' };
    const answers: Readonly<Record<string, object>> = {
      '/api': { versions: ['v1'] },
      '/apis': { groups: [{ preferredVersion: version, versions: [version] }] },
      '/api/v1': resources('secrets', 'Secret'),
      '/apis/example.com/v1': resources('gadgets', 'Gadget'),
      '/api/v1/resourcequotas': list(this.quota),
      '/api/v1/secrets': list(object('a'), object('b')),
      ...(!this.isBroken && { '/apis/example.com/v1/gadgets': list(object('a')) }),
    };
    return answers[path];
  }
}

async function* one(answer: object): AsyncIterable<Uint8Array> {
  yield Buffer.from(JSON.stringify(answer));
}

/** A watch without events. */
async function* open(): AsyncIterable<Uint8Array> {
  await new Promise(() => {});
}

it('what cannot be listed stays as it was, and holds up no other; it is counted when it can be', async () => {
  const server = new BrokenServer();
  const client = new ApiClient(server, 'test');
  const controller = startResourceQuota({
    ...{ name: 'resourcequota-controller', client, reader: client, dialect: orch, rootAuthority: '' },
    ...{ clock: systemClock, random: systemRandom, logger: silentLogger, events: { record() {} } },
  });
  try {
    await until(() => server.writes.length > 0);
    const { hard } = server.quota['spec'] as { hard: object };
    assert.deepEqual(server.writes[0], { hard, used: { secrets: '2', 'count/gadgets.example.com': '3' } });
    server.isBroken = false;
    await until(() => server.writes.length > 1);
    assert.deepEqual(server.writes.at(-1), { hard, used: { secrets: '2', 'count/gadgets.example.com': '1' } });
  } finally {
    controller.close();
  }
});
