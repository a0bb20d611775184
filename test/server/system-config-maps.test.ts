import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { ManualClock, systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { makeAuthority } from '../../src/pki/ca.ts';
import { authenticationTrust } from '../../src/server/upkeep/authentication-trust.ts';
import { serverUser } from '../../src/server/upkeep/bootstrap.ts';
import { legacyTokenTracking } from '../../src/server/upkeep/legacy-token-tracking.ts';
import { SystemConfigMaps } from '../../src/server/upkeep/system-config-maps.ts';
import { Folder } from '../support/authorization.ts';
import { serverForSuite } from '../support/in-process-server.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** ConfigMaps of the system namespace by which servers and controllers beside this server learn of it. */

type Data = Readonly<Record<string, string>>;

const authority = (name: string): string =>
  makeAuthority(name, { clock: systemClock, random: systemRandom }).certificatePem;
const [one, other, proxy] = [authority('one'), authority('other'), authority('proxy')];

describe('how clients are recognised', () => {
  const names = { username: ['x-user'], uid: ['x-uid'], group: ['x-group', 'x-role'], extraPrefix: ['x-extra-'] };
  const trust = ({ proxies = [proxy], now = systemClock.now(), tellsUid = false } = {}) =>
    authenticationTrust({
      dialect: orch,
      authorities: () => ({ clients: [one], proxies }),
      requestHeader: { allowedNames: ['front'], names },
      tellsUid,
      now: () => now,
    });
  const headers: Data = {
    'requestheader-client-ca-file': proxy,
    'requestheader-allowed-names': '["front"]',
    'requestheader-username-headers': '["x-user"]',
    'requestheader-group-headers': '["x-group","x-role"]',
    'requestheader-extra-headers-prefix': '["x-extra-"]',
  };
  const rows: readonly (readonly [what: string, found: Data, expected: Data, options?: Parameters<typeof trust>[0]])[] =
    [
      ['authorities, and headers of proxies', {}, { 'client-ca-file': one, ...headers }],
      ['no headers without authorities of proxies', {}, { 'client-ca-file': one }, { proxies: [] }],
      [
        'uids by their gate',
        {},
        { 'client-ca-file': one, ...headers, 'requestheader-uid-headers': '["x-uid"]' },
        { tellsUid: true },
      ],
      [
        'what other servers added, once',
        {
          'client-ca-file': other + one,
          'requestheader-client-ca-file': other,
          'requestheader-allowed-names': '["back","front"]',
        },
        {
          'client-ca-file': other + one,
          ...headers,
          'requestheader-client-ca-file': other + proxy,
          'requestheader-allowed-names': '["back","front"]',
        },
      ],
      [
        'nothing that somebody has broken, or that is none of it',
        {
          'client-ca-file': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
          'requestheader-allowed-names': '{',
          more: 'x',
        },
        { 'client-ca-file': one, ...headers },
      ],
      [
        'no authority that has expired',
        { 'client-ca-file': other },
        {},
        { proxies: [], now: Date.parse('2100-01-01') },
      ],
    ];
  for (const [what, found, expected, options] of rows) {
    test(what, () => assert.deepEqual(trust(options).data(found), expected));
  }
});

describe('since when uses of legacy tokens are recorded', () => {
  const now = () => Date.parse('2026-01-31T23:59:59Z');
  for (const [found, expected] of [
    [{}, { since: '2026-01-31' }],
    [
      { since: '2025-12-24', more: 'x' },
      { since: '2025-12-24', more: 'x' },
    ],
    [
      { since: 'yesterday', more: 'x' },
      { since: '2026-01-31', more: 'x' },
    ],
    [{ since: '2025-13-24' }, { since: '2026-01-31' }],
  ] as const) {
    test(`${JSON.stringify(found)}`, () => assert.deepEqual(legacyTokenTracking(orch, now).data(found), expected));
  }
});

describe('ConfigMaps that are kept', () => {
  const running = serverForSuite();
  const client = (): ApiClient => running.server.clientAs(serverUser, 'test');
  const path = '/api/v1/namespaces/orch-system/configmaps/kept';
  const dataNow = async (): Promise<unknown> => (await client().find(path))?.['data'];

  test('are made at the start, and again when they are gone or were changed', async () => {
    const clock = new ManualClock();
    const kept = [{ name: 'kept', data: (found: Data) => ({ ...found, key: 'right' }) }];
    const configMaps = new SystemConfigMaps({ client: client(), dialect: orch, clock, logger: silentLogger, kept });
    await configMaps.start();
    assert.deepEqual(await dataNow(), { key: 'right' });
    const { metadata } = await client().get(path);
    await configMaps.sync();
    assert.deepEqual((await client().get(path)).metadata, metadata);
    await client().delete(path);
    clock.advance(10_000);
    await until(async () => (await dataNow()) !== undefined);
    await client().update(path, { ...(await client().get(path)), data: { key: 'wrong', other: 'x' } });
    clock.advance(10_000);
    await until(async () => ((await dataNow()) as Data)['key'] === 'right');
    assert.deepEqual(await dataNow(), { key: 'right', other: 'x' });
    await configMaps.end();
    await client().delete(path);
    clock.advance(60_000);
    await configMaps.sync();
    assert.equal(await dataNow(), undefined);
  });
});

test('orch up tells both, and who may read how clients are recognised', async () => {
  using folder = new Folder();
  const file = folder.write('proxies.crt', proxy);
  const flags = [
    '--dialect=kubernetes',
    `--requestheader-client-ca-file=${file}`,
    '--requestheader-username-headers=X-User',
  ];
  await using server = await OrchProcess.start({ flags });
  const at = `/api/v1/namespaces/${kubernetes.namespaces.system}/configmaps`;
  const read = async (name: string): Promise<Data> => {
    const { status, json, text } = await server.get<{ readonly data: Data }>(`${at}/${name}`);
    assert.equal(status, 200, text);
    return json.data;
  };
  const trust = await read('extension-apiserver-authentication');
  assert.equal(trust['client-ca-file'], readFileSync(join(server.dataDir, 'pki', 'ca.crt'), 'utf8'));
  assert.equal(trust['requestheader-client-ca-file'], proxy);
  assert.equal(trust['requestheader-username-headers'], '["x-user"]');
  const { since } = await read('kube-apiserver-legacy-service-account-token-tracking');
  assert.match(since ?? '', /^\d{4}-\d\d-\d\d$/);
  assert.equal((await server.get(`${at}/extension-apiserver-authentication`, { as: 'anonymous' })).status, 403);
});
