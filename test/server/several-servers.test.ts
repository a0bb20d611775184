import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { underLoad } from '../support/under-load.ts';

/**
 * Two servers of one etcd, with keys shared as OPERATIONS.md says: what one gave out is good at the other one, and a client behind a balancer
 * needs to know neither. `ORCH_SERVERS_KILLED=100` kills servers that many times instead of twice.
 */

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly continue?: string };
}
interface List {
  readonly items: readonly Item[];
  readonly metadata: Item['metadata'];
}

const maps = '/api/v1/namespaces/default/configmaps';
const kills = Number(process.env['ORCH_SERVERS_KILLED'] ?? 2);

describe('two servers of one etcd', { skip: etcdMissing, timeout: (5 + kills) * 60_000 }, () => {
  let etcd: EtcdProcess;
  let folder: string;
  let servers: readonly [OrchProcess, OrchProcess];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orch-servers-'));
    etcd = await startEtcd();
    const flags = [`--etcd-servers=${etcd.endpoint}`];
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    const first = await OrchProcess.start({ flags, dataDir: one });
    // The commands of OPERATIONS.md, "Several servers".
    mkdirSync(join(two, 'pki'), { recursive: true, mode: 0o700 });
    for (const file of ['ca.crt', 'ca.key', 'service-account.key'])
      cpSync(join(one, 'pki', file), join(two, 'pki', file));
    servers = [first, await OrchProcess.start({ flags, dataDir: two })];
  });
  after(async () => {
    for (const server of servers ?? []) await server.kill();
    await etcd?.stop();
    rmSync(folder, { recursive: true });
  });

  const create = async (server: OrchProcess, name: string): Promise<Item> => {
    const { status, json, text } = await server.post<Item>(maps, { metadata: { name, labels: { by: 'test' } } });
    assert.equal(status, 201, text);
    return json;
  };

  test('certificates and tokens of one are good at the other', async () => {
    const [one, two] = servers;
    const path = '/api/v1/namespaces/default/serviceaccounts';
    assert.equal((await one.post(path, { metadata: { name: 'shared' } })).status, 201);
    const issued = await one.post<{ status: { token: string } }>(`${path}/shared/token`, {
      spec: { expirationSeconds: 600 },
    });
    const review = '/apis/authentication.orch.io/v1/selfsubjectreviews';
    for (const server of servers) {
      const { status, text } = await server.post(review, {}, { as: { token: issued.json.status.token } });
      assert.deepEqual([status, /system:serviceaccount:default:shared/.test(text)], [201, true], text);
    }
    // The administrator of one, who trusts the authority of one alone.
    const agent = new https.Agent(one.credentials);
    const status = await new Promise((resolve, reject) => {
      https
        .get({ host: '127.0.0.1', port: two.port, path: maps, agent }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
        .on('error', reject);
    });
    agent.destroy();
    assert.equal(status, 200);
    assert.equal((await one.delete(`${path}/shared`)).status, 200);
    assert.equal(
      (await two.post(review, {}, { as: { token: issued.json.status.token } })).status,
      401,
      'it counts at once',
    );
  });

  test('versions and continue tokens of one are good at the other', async () => {
    const [one, two] = servers;
    for (const name of ['p1', 'p2', 'p3']) await create(one, name);
    const selected = 'labelSelector=by%3Dtest';
    const first = await one.get<List>(`${maps}?limit=2&${selected}`);
    const { resourceVersion, continue: token = '' } = first.json.metadata;
    await create(two, 'p4');
    const rest = await two.get<List>(`${maps}?limit=2&${selected}&continue=${encodeURIComponent(token)}`);
    const names = [...first.json.items, ...rest.json.items].map(({ metadata }) => metadata.name);
    assert.deepEqual([names, rest.json.metadata.resourceVersion], [['p1', 'p2', 'p3'], resourceVersion]);
    for (const server of servers) {
      const exact = await server.get<List>(
        `${maps}?${selected}&resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
      );
      assert.deepEqual(
        exact.json.items.map(({ metadata }) => metadata.name),
        ['p1', 'p2', 'p3'],
        exact.text,
      );
      const newest = await server.get<List>(`${maps}?${selected}`);
      assert.equal(newest.json.items.length, 4);
    }
  });

  test('a watch goes on at the other one, without a gap and nothing twice', async () => {
    const [one, two] = servers;
    const seen: string[] = [];
    const { json } = await one.get<List>(`${maps}?limit=1`);
    let version = json.metadata.resourceVersion;
    for (let round = 0; round < 6; round++) {
      const [here, there] = round % 2 === 0 ? [one, two] : [two, one];
      await create(there, `w${round}a`);
      const watch = here.watch(`${maps}?watch=1&resourceVersion=${version}`);
      const { metadata } = await create(there, `w${round}b`);
      await watch.until(({ events }) => events.some(({ object }) => object.metadata.name === metadata.name));
      watch.close();
      for (const { type, object } of watch.events) {
        seen.push(`${type} ${object.metadata.name}`);
        version = object.metadata.resourceVersion;
      }
    }
    const expected = [0, 1, 2, 3, 4, 5].flatMap((round) => [`ADDED w${round}a`, `ADDED w${round}b`]);
    assert.deepEqual(
      seen.filter((each) => / w\d[ab]$/.test(each)),
      expected,
    );
  });

  test('one is killed under load behind a balancer: no client sees an error that a retry does not mend', async () => {
    const { retried } = await underLoad(servers, async ({ moreWrites }) => {
      for (let kill = 0; kill < kills; kill++) {
        await moreWrites();
        const victim = servers[kill % 2] as OrchProcess;
        await victim.kill();
        await moreWrites();
        await victim.restart();
      }
    });
    assert.ok(retried > 0, 'nothing was cut off: the servers were not under load');
  });
});
