import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Two servers on one etcd, and two threads of one, grant no more than a quota has, whoever is asked. */

interface Quota {
  readonly status: { readonly used?: Readonly<Record<string, string>> };
}

const place = '/api/v1/namespaces/shared';
const granted = 100;

describe('quotas of two servers on etcd', { skip: etcdMissing ?? false }, () => {
  let etcd: EtcdProcess;
  sharedQuotas(async () => {
    etcd = await startEtcd();
    const flags = [`--etcd-servers=${etcd.endpoint}`, '--dialect=kubernetes'];
    return [await OrchProcess.start({ flags }), await OrchProcess.start({ flags })];
  });
  after(() => etcd.stop());
});

describe('quotas of two serving threads', () => {
  sharedQuotas(async () => {
    // Its client has many connections, which the system spreads.
    const server = await OrchProcess.start({ flags: ['--serving-threads=2', '--dialect=kubernetes'] });
    await until(() => server.log.split('a serving thread serves').length > 2);
    return [server, server];
  });
});

function sharedQuotas(start: () => Promise<readonly [OrchProcess, OrchProcess]>): void {
  let servers: readonly [OrchProcess, OrchProcess];
  before(async () => {
    servers = await start();
    await servers[0].post('/api/v1/namespaces', { metadata: { name: 'shared' } });
  });
  after(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  const used = async (): Promise<string | undefined> =>
    (await servers[1].get<Quota>(`${place}/resourcequotas/q`)).json.status.used?.['secrets'];

  test('200 creations at once: as many succeed as there is', async () => {
    const spec = { hard: { secrets: String(granted) } };
    await servers[1].post(`${place}/resourcequotas`, { metadata: { name: 'q' }, spec });
    await until(async () => (await used()) === '0');
    const create = async (at: number): Promise<string> => {
      const { status, json } = await (servers[at % 2] ?? servers[0]).post(`${place}/secrets`, {
        metadata: { name: `s${at}` },
      });
      return status === 201 ? 'created' : `${status} ${json['message']}`.replace(/s\d+/, 's');
    };
    const answers = await Promise.all(Array.from({ length: 2 * granted }, (_, at) => create(at)));
    const counts = Object.groupBy(answers, (answer) => answer);
    const refused =
      '403 secrets "s" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=100, limited: secrets=100';
    assert.deepEqual(Object.fromEntries(Object.entries(counts).map(([answer, all]) => [answer, all?.length])), {
      created: granted,
      [refused]: granted,
    });
    assert.equal(await used(), String(granted));
  });

  test('what was deleted at one may be created at the other', async () => {
    for (let at = 0; at < 5; at++) await servers[0].delete(`${place}/secrets/${await anySecret()}`);
    await until(async () => (await used()) === String(granted - 5));
    const statuses = await Promise.all(
      Array.from(
        { length: 10 },
        async (_, at) => (await servers[1].post(`${place}/secrets`, { metadata: { name: `t${at}` } })).status,
      ),
    );
    assert.deepEqual(statuses.toSorted(), [...Array(5).fill(201), ...Array(5).fill(403)]);
  });

  const anySecret = async (): Promise<string> => {
    const { json } = await servers[0].get<{ items: [{ metadata: { name: string } }] }>(`${place}/secrets?limit=1`);
    return json.items[0].metadata.name;
  };
}
