import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { ensureAuthority, ensureIssued } from '../../src/pki/ca.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { Command, getStatus } from '../support/command.ts';

let area: string;
let count = 0;
before(() => {
  area = mkdtempSync(join(tmpdir(), 'serve '));
});
after(() => rmSync(area, { recursive: true }));
const newDirectory = (): string => join(area, `data ${++count}`);

const listening = /listens on (https:\/\/127\.0\.0\.1:(\d+))/;
const namespaces = '/api/v1/namespaces';

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
}

/** What an administrator connects with. */
function access(dataDirectory: string) {
  const { clusters, users } = parse(readFileSync(join(dataDirectory, 'admin.kubeconfig'), 'utf8')) as Kubeconfig;
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
  return {
    server: cluster?.['server'] ?? '',
    servername: cluster?.['tls-server-name'],
    ca: decode(cluster?.['certificate-authority-data']),
    cert: decode(user?.['client-certificate-data']),
    key: decode(user?.['client-key-data']),
  };
}

async function adminStatus(dataDirectory: string): Promise<number> {
  const { server, servername, ca, cert, key } = access(dataDirectory);
  return getStatus(server + namespaces, { ca, cert, key, ...(servername !== undefined && { servername }) });
}

const modeOf = (file: string): number => statSync(file).mode & 0o777;

describe('orch up', () => {
  it('makes what it needs, keeps it private, and keeps it', async () => {
    const directory = newDirectory();
    let authority: string;
    {
      await using server = new Command('up', `--data-dir=${directory}`, '--secure-port=0');
      const [, url] = await server.prints(listening);
      await server.prints(/\n\n$/);
      assert.equal(server.out.match(/--kubeconfig '[^']+admin\.kubeconfig' /g)?.length, 3);
      assert.equal(access(directory).server, url);
      assert.equal(await adminStatus(directory), 200);
      assert.equal(await getStatus(url + namespaces, { ca: access(directory).ca }), 403);
      assert.equal(await getStatus(`${url}/readyz`, { ca: access(directory).ca }), 200);
      const { cert } = access(directory);
      assert.equal(new X509Certificate(cert).subject, 'O=system:masters\nCN=orch-admin');
      authority = readFileSync(join(directory, 'pki', 'ca.crt'), 'utf8');
      for (const each of [directory, join(directory, 'pki')]) assert.equal(modeOf(each), 0o700);
      const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
      const shared = files.map((each) => join(each.parentPath, each.name)).filter((each) => modeOf(each) !== 0o600);
      assert.deepEqual(shared, []);
      server.signal('SIGTERM');
      assert.equal(await server.exit(), 0);
    }
    await using again = new Command('up', '--data-dir', directory, '--secure-port', '0');
    await again.prints(listening);
    assert.equal(readFileSync(join(directory, 'pki', 'ca.crt'), 'utf8'), authority);
    assert.equal(await adminStatus(directory), 200);
    again.signal('SIGINT');
    assert.equal(await again.exit(), 0);
  });

  it('has admin.kubeconfig in place when it is ready', async () => {
    const directory = newDirectory();
    const port = await closedPort();
    await using server = new Command('up', `--data-dir=${directory}`, `--secure-port=${port}`);
    const url = `https://127.0.0.1:${port}/readyz`;
    let status = 0;
    for (let attempt = 0; status !== 200; attempt++) {
      assert.ok(attempt < 20_000, server.err);
      status = await getStatus(url, { rejectUnauthorized: false }).catch(() => 0);
    }
    assert.ok(existsSync(join(directory, 'admin.kubeconfig')));
  });

  it('tells a second one whose the data is, and leaves the first alone', async () => {
    const directory = newDirectory();
    await using first = new Command('up', `--data-dir=${directory}`, '--secure-port=0');
    await first.prints(listening);
    const before = readFileSync(join(directory, 'admin.kubeconfig'), 'utf8');
    await using second = new Command('up', `--data-dir=${directory}`, '--secure-port=0');
    assert.equal(await second.exit(), 1);
    assert.match(second.err, new RegExp(`^orch up: .*orch\\.db is in use by process ${first.pid}\\b.*\\n$`));
    assert.equal(readFileSync(join(directory, 'admin.kubeconfig'), 'utf8'), before);
    assert.equal(await adminStatus(directory), 200);
  });

  it('says in one line that the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      await using server = new Command('up', `--data-dir=${newDirectory()}`, `--secure-port=${port}`);
      assert.equal(await server.exit(), 1);
      assert.match(server.err, new RegExp(`^orch up: 127\\.0\\.0\\.1 port ${port} is in use: .*--secure-port\\n$`));
    } finally {
      taken.close();
    }
  });

  it('says in one line that the address is not its own', async () => {
    await using server = new Command('up', `--data-dir=${newDirectory()}`, '--bind-address=192.0.2.1');
    assert.equal(await server.exit(), 1);
    assert.match(server.err, /^orch up: --bind-address: 192\.0\.2\.1 is not an address of this machine\n$/);
  });

  it('refuses damaged keys by name and leaves them as they are', async () => {
    const directory = newDirectory();
    await using first = new Command('up', `--data-dir=${directory}`, '--secure-port=0');
    await first.prints(listening);
    first.signal('SIGTERM');
    await first.exit();
    writeFileSync(join(directory, 'pki', 'ca.key'), 'damaged');
    await using second = new Command('up', `--data-dir=${directory}`, '--secure-port=0');
    assert.equal(await second.exit(), 1);
    assert.match(second.err, /^orch up: .*pki\/ca\.key is not a private key in PEM .*\n$/);
    assert.equal(readFileSync(join(directory, 'pki', 'ca.key'), 'utf8'), 'damaged');
  });

  it('ends at once at a second signal', async () => {
    const directory = newDirectory();
    const flags = ['--secure-port=0', '--shutdown-delay-duration=1h'];
    await using server = new Command('up', `--data-dir=${directory}`, ...flags);
    await server.prints(listening);
    server.signal('SIGTERM');
    await server.prints(/stopping/);
    const { server: url, ca } = access(directory);
    assert.equal(await getStatus(`${url}/readyz`, { ca }), 500, 'not ready, and still served');
    assert.equal(await adminStatus(directory), 200);
    server.signal('SIGTERM');
    assert.equal(await server.exit(), 1);
  });

  it('serves with a given certificate, and its own clients know it', async () => {
    const directory = newDirectory();
    const context = { clock: systemClock, random: systemRandom };
    const file = (name: string): string => join(area, `${count}-${name}`);
    const authority = ensureAuthority({ certificate: file('ca.crt'), key: file('ca.key') }, 'their-ca', context);
    const files = { certificate: file('tls.crt'), key: file('tls.key') };
    const subject = { commonName: 'api.example.com' };
    ensureIssued(files, authority, { subject, use: 'serverAuth', hosts: ['api.example.com'] }, context);
    writeFileSync(files.certificate, readFileSync(files.certificate, 'utf8') + authority.certificatePem);
    const flags = [`--tls-cert-file=${files.certificate}`, `--tls-private-key-file=${files.key}`];
    await using server = new Command('up', `--data-dir=${directory}`, '--secure-port=0', ...flags);
    await server.prints(listening);
    assert.equal(access(directory).servername, 'api.example.com');
    assert.equal(await adminStatus(directory), 200);
  });

  it('signs tokens with a key and for an issuer that are given, together or alone', async () => {
    const key = join(area, 'token.key');
    writeFileSync(key, keyToPem(generateKey()), { mode: 0o600 });
    const [keyFlag, issuerFlag] = [
      `--service-account-signing-key-file=${key}`,
      '--service-account-issuer=https://tokens.example.com',
    ];
    for (const flags of [[keyFlag], [issuerFlag], [keyFlag, issuerFlag]]) {
      const directory = newDirectory();
      await using server = new Command('up', `--data-dir=${directory}`, '--secure-port=0', ...flags);
      await server.prints(listening);
      assert.equal(
        existsSync(join(directory, 'pki', 'service-account.key')),
        !flags.includes(keyFlag),
        flags.join(' '),
      );
    }
  });

  for (const flag of [
    '--authorization-mode=Nobody',
    '--oidc-client-id=a',
    '--controllers=nobody',
    '--service-account-key-file=/nowhere',
  ]) {
    it(`leaves nothing behind when it cannot start: ${flag}`, async () => {
      const directory = newDirectory();
      await using server = new Command('up', `--data-dir=${directory}`, '--secure-port=0', flag);
      assert.equal(await server.exit(), 1);
      assert.equal(existsSync(directory), false);
    });
  }

  it('trusts the authorities of --client-ca-file beside its own', async () => {
    const directory = newDirectory();
    const context = { clock: systemClock, random: systemRandom };
    const file = (name: string): string => join(area, `${count}-${name}`);
    const authority = ensureAuthority({ certificate: file('ca.crt'), key: file('ca.key') }, 'their-ca', context);
    const client = { certificate: file('client.crt'), key: file('client.key') };
    const { certificatePem: cert, keyPem: key } = ensureIssued(
      client,
      authority,
      { subject: { commonName: 'jane' }, use: 'clientAuth' },
      context,
    );
    const flag = `--client-ca-file=${file('ca.crt')}`;
    await using server = new Command('up', `--data-dir=${directory}`, '--secure-port=0', flag);
    await server.prints(listening);
    const { server: url, ca } = access(directory);
    // Discovery is for users, and not for anonymous clients.
    assert.equal(await getStatus(`${url}/api`, { ca, cert, key }), 200);
    assert.equal(await getStatus(`${url}/api`, { ca }), 403);
    assert.equal(await adminStatus(directory), 200);
  });
});

describe('orch apiserver', () => {
  it('lets in whom the flags name, logs JSON, and makes only its own certificate', async () => {
    const directory = newDirectory();
    const tokens = join(area, 'tokens.csv');
    writeFileSync(tokens, 's3cret,jane,1,"system:masters"\n');
    const flags = ['--secure-port=0', `--token-auth-file=${tokens}`, '--anonymous-auth=false'];
    await using server = new Command('apiserver', `--data-dir=${directory}`, ...flags);
    const [, url = ''] = await server.prints(/"msg":"serving","v":0,"url":"([^"]+)"/);
    const ca = readFileSync(join(directory, 'pki', 'apiserver.crt'));
    const as = (token: string) => ({ ca, headers: { authorization: `Bearer ${token}` } });
    assert.equal(await getStatus(url + namespaces, as('s3cret')), 200);
    assert.equal(await getStatus(url + namespaces, as('wrong')), 401);
    assert.equal(await getStatus(`${url}/readyz`, { ca }), 401, 'anonymous requests are off');
    server.signal('SIGINT');
    assert.equal(await server.exit(), 0);
    assert.equal(server.out, '');
    for (const line of server.err.trimEnd().split('\n')) assert.ok(JSON.parse(line).msg);
    assert.deepEqual(readdirSync(join(directory, 'pki')).sort(), ['apiserver.crt', 'apiserver.key']);
  });
});

/** A port that nothing listens on, for once. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
