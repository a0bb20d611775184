import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** The controllers as a program of their own, beside a server that runs none but one. */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--controllers=serviceaccount'] });
});
after(() => server[Symbol.asyncDispose]());

const namespaces = '/api/v1/namespaces';
const manager = (...flags: readonly string[]): Command =>
  new Command('controller-manager', `--kubeconfig=${server.kubeconfig}`, ...flags);
const status = async (path: string): Promise<number> => (await server.get(path)).status;
const gone = (path: string): Promise<void> => until(async () => (await status(path)) === 404, `${path} is still there`);

interface Lease {
  readonly spec: { readonly holderIdentity: string };
}
const holder = async (): Promise<string> => {
  const path = '/apis/coordination.orch.io/v1/namespaces/orch-system/leases/orch-controller-manager';
  return (await server.get<Lease>(path)).json.spec.holderIdentity;
};

async function makeNamespace(name: string): Promise<void> {
  assert.equal((await server.post(namespaces, { metadata: { name } })).status, 201);
  await server.post(`${namespaces}/${name}/configmaps`, { metadata: { name: 'x' } });
  await server.delete(`${namespaces}/${name}`);
}

describe('orch controller-manager', () => {
  it('does the work of the controllers, one at a time, and hands over', async () => {
    await makeNamespace('n');
    await using first = manager();
    await first.prints(/"controllers run"/);
    await gone(`${namespaces}/n`);
    const leader = await holder();
    assert.notEqual(leader, '');
    await using second = manager('--v=4');
    first.signal('SIGTERM');
    assert.equal(await first.exit(), 0);
    await second.prints(/"controllers run"/);
    assert.notEqual(await holder(), leader);
    await makeNamespace('m');
    await gone(`${namespaces}/m`);
    second.signal('SIGINT');
    assert.equal(await second.exit(), 0);
    assert.equal(await holder(), '');
  });

  it('runs only those that are chosen, with the authority that is given', async () => {
    const authority = join(server.dataDir, 'pki', 'ca.crt');
    const chosen = ['--controllers=*,-namespace', '--leader-elect=false', `--root-ca-file=${authority}`];
    await using running = manager(...chosen);
    await running.prints(/"controllers run"/);
    await makeNamespace('kept');
    const published = `${namespaces}/default/configmaps/orch-root-ca.crt`;
    await until(async () => (await status(published)) === 200, 'the authority is published');
    const { json } = await server.get<{ data: Record<string, string> }>(published);
    assert.match(json.data['ca.crt'] ?? '', /BEGIN CERTIFICATE/);
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' };
    const made = await server.post(`${namespaces}/default/configmaps`, {
      metadata: { name: 'owned', ownerReferences: [owner] },
    });
    assert.equal(made.status, 201);
    await gone(`${namespaces}/default/configmaps/owned`);
    assert.equal(await status(`${namespaces}/kept`), 200);
    await using other = manager('--controllers=namespace', '--leader-elect=false');
    await gone(`${namespaces}/kept`);
    other.signal('SIGTERM');
    assert.equal(await other.exit(), 0);
  });

  it('puts tokens into secrets with the key that is given, and leaves them alone without one', async () => {
    const secrets = `${namespaces}/default/secrets`;
    const made = await server.post(secrets, {
      metadata: { name: 'token', annotations: { 'orch.io/service-account.name': 'default' } },
      type: 'orch.io/service-account-token',
    });
    assert.equal(made.status, 201);
    const chosen = ['--controllers=serviceaccount-token', '--leader-elect=false'];
    await using idle = manager(...chosen);
    await idle.prints(/are left alone: no --service-account-private-key-file/);
    const key = join(server.dataDir, 'pki', 'service-account.key');
    await using running = manager(...chosen, `--service-account-private-key-file=${key}`);
    const token = async (): Promise<string> => {
      const { json } = await server.get<{ data?: Readonly<Record<string, string>> }>(`${secrets}/token`);
      return Buffer.from(json.data?.['token'] ?? '', 'base64').toString();
    };
    await until(async () => (await token()) !== '', 'the secret is filled');
    const [, payload = ''] = (await token()).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    assert.equal(claims.sub, 'system:serviceaccount:default:default');
    assert.doesNotMatch(running.err, new RegExp(payload));
  });

  it('waits for a server that is away, and goes on when it comes back', async () => {
    await server.stop();
    await using waiting = manager('--leader-elect=false');
    await waiting.prints(/the server cannot be reached yet/);
    await server.restart();
    await waiting.prints(/"controllers run"/);
    await server.kill();
    await server.restart();
    await makeNamespace('later');
    await gone(`${namespaces}/later`);
  });

  it('does not lead without a server for longer than its deadline: it ends, and says so', async () => {
    const timing = ['lease-duration=1500ms', 'renew-deadline=1s', 'retry-period=200ms'];
    await using leader = manager(...timing.map((each) => `--leader-elect-${each}`));
    await leader.prints(/"controllers run"/);
    await server.stop();
    assert.equal(await leader.exit(), 1);
    assert.match(leader.err, /^orch controller-manager: the lease was lost; the controllers have stopped$/m);
    await server.restart();
  });

  for (const [what, flags, message] of [
    ['no connection file', [], '--kubeconfig is missing: --kubeconfig=FILE'],
    ['one that is not there', ['--kubeconfig=/none'], /^\/none: cannot be read: ENOENT/],
    ['an unknown controller', ['--controllers=nonsense'], /^--controllers: "nonsense" is no controller; there are /],
    [
      'a deadline after the lease',
      ['--kubeconfig=x', '--leader-elect-renew-deadline=15s'],
      '--leader-elect-renew-deadline: must be less than --leader-elect-lease-duration',
    ],
    [
      'a pause as long as the deadline',
      ['--kubeconfig=x', '--leader-elect-retry-period=10s'],
      '--leader-elect-retry-period: must be more than 0 and less than --leader-elect-renew-deadline',
    ],
  ] as const) {
    it(`${what}: exit 1, one line`, async () => {
      await using command = new Command('controller-manager', ...flags);
      assert.equal(await command.exit(), 1);
      const [line, ...more] = command.err.split('\n');
      assert.deepEqual(more, ['']);
      const said = line?.replace('orch controller-manager: ', '') ?? '';
      if (typeof message === 'string') assert.equal(said, message);
      else assert.match(said, message);
    });
  }

  for (const [file, problem] of [
    ['/dev/null', 'has no PEM block of a private key'],
    ['/none', 'ENOENT'],
  ] as const) {
    it(`${file} as the key of tokens: exit 1, one line`, async () => {
      await using command = manager(`--service-account-private-key-file=${file}`);
      assert.equal(await command.exit(), 1);
      const [line = '', ...more] = command.err.split('\n');
      assert.deepEqual(more, ['']);
      assert.match(line, new RegExp(`^orch controller-manager: --service-account-private-key-file: .*${problem}`));
    });
  }

  it('another dialect than the server: exit 1, one line', async () => {
    await using command = manager('--dialect=kubernetes');
    assert.equal(await command.exit(), 1);
    assert.match(command.err, /--dialect: the server does not speak the dialect kubernetes\n$/);
  });

  it('a credential that may not come in: it says so, and does not end', async () => {
    const file = join(server.dataDir, 'stranger.kubeconfig');
    const cluster = `{server: '${server.url}', certificate-authority: pki/ca.crt}`;
    writeFileSync(
      file,
      `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: ${cluster}}], users: [{name: u, user: {token: wrong}}]}`,
    );
    await using command = new Command('controller-manager', `--kubeconfig=${file}`);
    await command.prints(/Unauthorized/);
    assert.doesNotMatch(command.err, /wrong/);
    command.signal('SIGTERM');
    assert.equal(await command.exit(), 0);
  });
});
