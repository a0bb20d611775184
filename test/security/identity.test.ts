import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemRandom } from '../../src/base/random.ts';
import { readToClose } from '../../src/http/socket-fixture.ts';
import { type Authority, type CertificateUse, issueCertificate, issueSelfSigned } from '../../src/pki/certificate.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { openTls, requestText, sendRaw, withoutCertificate } from '../support/raw-client.ts';

/** Who a request comes from is what a credential proves, and nothing else that the client says. */

const hourMs = 3600_000;
const dayMs = 24 * hourMs;

interface Made extends Authority {
  readonly cert: string;
  readonly key: string;
}

/** A certificate; signed by its own key where no issuer is given. */
function made(
  issuer: Authority | undefined,
  subject: { readonly commonName: string; readonly organizations?: readonly string[] },
  uses: readonly CertificateUse[],
  ageMs = hourMs,
): Made {
  const privateKey = generateKey();
  const notBefore = Date.now() - ageMs;
  const request = { subject, publicKey: createPublicKey(privateKey), uses, notBefore, notAfter: notBefore + dayMs };
  const certificate = issuer
    ? issueCertificate(issuer, request, systemRandom)
    : issueSelfSigned(request, privateKey, systemRandom);
  return { certificate, privateKey, cert: certificate.toString(), key: keyToPem(privateKey) };
}

const withChain = (leaf: Made, ...chain: readonly Made[]): { readonly cert: string; readonly key: string } => ({
  cert: [leaf, ...chain].map(({ cert }) => cert).join(''),
  key: leaf.key,
});

const masters = { commonName: 'root', organizations: ['system:masters'] };
const low = { commonName: 'low', organizations: ['readers'] };
const trusted = made(undefined, { commonName: 'trusted-ca' }, ['authority']);
/** An authority below the trusted one whose own name would be a powerful user's. */
const between = made(trusted, masters, ['authority', 'clientAuth']);
const powerful = made(trusted, masters, ['clientAuth']);
const weak = made(trusted, low, ['clientAuth']);

let server: OrchProcess;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'identity-'));
  writeFileSync(join(folder, 'ca.pem'), trusted.cert);
  server = await OrchProcess.start({
    flags: ['--token-auth-file=test/support/tokens.csv', `--client-ca-file=${join(folder, 'ca.pem')}`],
  });
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/**
 * Whom the server takes the sender for: the name in its refusal of a write, `masters` where it refuses none,
 * `nobody` where the credential does not hold.
 */
async function seenAs(options: https.RequestOptions): Promise<string> {
  const text = await new Promise<string>((resolve, reject) => {
    const request = https.request(
      `${server.url}/api/v1/namespaces`,
      { method: 'POST', agent: false, ca: server.credentials.ca, ...options },
      (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => resolve(`${response.statusCode} ${body}`));
      },
    );
    request.on('error', reject);
    request.setHeader('content-type', 'application/json');
    request.end('{}');
  });
  if (text.startsWith('401 ')) return 'nobody';
  if (text.startsWith('422 ')) return 'masters';
  return /User \\?"([^"\\]+)\\?" cannot create/.exec(text)?.[1] ?? text;
}

test('what the tests stand on: a certificate of the authority is its user', async () => {
  assert.equal(await seenAs(weak), 'low');
  assert.equal(await seenAs(powerful), 'masters');
  assert.equal(await seenAs({}), 'system:anonymous');
});

describe('the leaf is the user, not what came with it (CVE-2016-7075)', () => {
  const throughBetween = made(between, low, ['clientAuth']);
  const rows: readonly (readonly [what: string, pair: { cert: string; key: string }, user: string])[] = [
    ['a leaf of an intermediate named like a master', withChain(throughBetween, between), 'low'],
    ['the same with the root behind it', withChain(throughBetween, between, trusted), 'low'],
    ["a leaf with a master's certificate behind it", withChain(weak, powerful), 'low'],
    ["a master's certificate without its key", { cert: powerful.cert + weak.cert, key: weak.key }, 'no handshake'],
    ['a leaf whose intermediate is kept back', throughBetween, 'nobody'],
  ];
  for (const [what, pair, user] of rows) {
    test(`${what}: ${user}`, async () => {
      const seen = await seenAs(pair).catch(() => 'no handshake');
      assert.equal(seen, user);
    });
  }
});

describe('certificates that do not hold are nobody, not anonymous', () => {
  const issuedByLeaf = made(weak, masters, ['clientAuth']);
  const forged = made(made(undefined, { commonName: 'trusted-ca' }, ['authority']), masters, ['clientAuth']);
  const rows: readonly (readonly [what: string, pair: Made | { cert: string; key: string }])[] = [
    ['signed by itself', made(undefined, masters, ['clientAuth'])],
    ['of an authority with the name of the trusted one and another key', forged],
    ['signed by a leaf', withChain(issuedByLeaf, weak)],
    ['for servers only', made(trusted, masters, ['serverAuth'])],
    ['expired', made(trusted, masters, ['clientAuth'], 2 * dayMs)],
    ['not valid yet', made(trusted, masters, ['clientAuth'], -hourMs)],
    ['without a name', made(trusted, { commonName: '', organizations: ['system:masters'] }, ['clientAuth'])],
  ];
  for (const [what, pair] of rows) test(what, async () => assert.equal(await seenAs(pair), 'nobody'));

  test("the server's own serving certificate", async () => {
    const file = (name: string): Buffer => readFileSync(join(server.dataDir, 'pki', name));
    assert.equal(await seenAs({ cert: file('apiserver.crt'), key: file('apiserver.key') }), 'nobody');
  });

  test('even beside a token that holds, they give no more than the token', async () => {
    const headers = { authorization: 'Bearer secret-of-jane' };
    assert.equal(await seenAs({ ...made(undefined, masters, ['clientAuth']), headers }), 'jane');
  });
});

describe('tokens', () => {
  const headers: readonly (readonly [value: string, user: string])[] = [
    ['Bearer secret-of-jane', 'jane'],
    ['bearer secret-of-jane', 'jane'],
    ['Bearer secret-of-jan', 'nobody'],
    ['Bearer secret-of-jane2', 'nobody'],
    ['Bearer __proto__', 'nobody'],
    ['Bearer constructor', 'nobody'],
    ['Bearer jane', 'nobody'],
    ['Bearer secret-of-jane,secret-of-jane', 'nobody'],
    ['Basic c2VjcmV0LW9mLWphbmU6eA==', 'system:anonymous'],
    ['secret-of-jane', 'system:anonymous'],
  ];
  for (const [authorization, user] of headers) {
    test(`${authorization} is ${user}`, async () => assert.equal(await seenAs({ headers: { authorization } }), user));
  }

  test('stand in the header only, never in the query', async () => {
    for (const query of ['access_token=secret-of-jane', 'token=secret-of-jane', 'bearer=secret-of-jane']) {
      const answer = await server.get(`/api/v1/namespaces?${query}`, { as: 'anonymous' });
      assert.equal(answer.status, 403, answer.text);
    }
  });
});

describe('headers that only a trusted proxy may set give nothing', () => {
  const forged: readonly (readonly string[])[] = [
    ['x-remote-user: root', 'x-remote-group: system:masters'],
    ['X-Remote-User: root', 'X-Remote-Group: system:masters', 'X-Remote-Extra-Scopes: all'],
    ['x_remote_user: root', 'x_remote_group: system:masters'],
    ['x-forwarded-user: root', 'x-forwarded-client-cert: Subject="O=system:masters,CN=root"'],
    ['ssl-client-cert: x', 'x-ssl-client-s-dn: O=system:masters,CN=root', 'x-client-verify: SUCCESS'],
    ['x-original-url: /version', 'x-rewrite-url: /version', 'x-http-method-override: GET'],
  ];
  for (const lines of forged) {
    test(lines.join(', '), async () => {
      for (const method of ['GET', 'POST']) {
        const answer = await sendRaw(
          server,
          requestText(method, '/api/v1/namespaces', ...lines, 'content-length: 0'),
          withoutCertificate,
        );
        assert.match(answer, /^HTTP\/1\.1 403 .*User \\"system:anonymous\\"/s);
      }
    });
  }
});

describe('`Connection` takes no header away (RFC 9110 section 7.6.1)', () => {
  /** A header that says who asks must not vanish because the client lists it as one of the connection's own. */
  const rows: readonly (readonly [listed: string, header: string, status: number])[] = [
    ['authorization', 'authorization: Bearer wrong', 400],
    ['keep-alive, Authorization', 'Authorization: Bearer secret-of-jane', 400],
    ['x-remote-user', 'authorization: Bearer wrong', 400],
    ['content-length', 'authorization: Bearer wrong', 401],
    ['impersonate-user', 'impersonate-user: jane', 400],
    ['keep-alive, Impersonate-Extra-Scopes', 'Impersonate-User: jane', 400],
  ];
  for (const [listed, header, status] of rows) {
    test(`connection: ${listed}`, async () => {
      const socket = await openTls(server, withoutCertificate);
      const lines = ['GET /api/v1/namespaces HTTP/1.1', 'host: x', `connection: ${listed}`, header];
      socket.write(`${lines.join('\r\n')}\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      assert.match(await readToClose(socket), new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }
});

describe('impersonation', () => {
  /** Who the server takes a request for that the admin sends with these headers. */
  const as = async (headers: Readonly<Record<string, string>>): Promise<string> => {
    const { status, text } = await server.get('/api/v1/namespaces/x/secrets/y', { headers });
    return /User \\?"([^"\\]+)\\?" cannot (\w+)/.exec(text)?.slice(1).join(' ') ?? String(status);
  };
  const rows: readonly (readonly [headers: Readonly<Record<string, string>>, seen: string])[] = [
    [{}, '404'],
    [{ 'Impersonate-User': '' }, '400'],
    [{ 'Impersonate-User': ' \t' }, '400'],
    [{ 'Impersonate-User': 'bob' }, 'bob get'],
    [{ 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' }, '404'],
    [{ 'Impersonate-User': 'system:anonymous' }, 'system:anonymous get'],
    [{ 'Impersonate-User': 'j\u00c3\u00bcrgen' }, 'j\u00fcrgen get'],
    [{ 'Impersonate-Group': 'system:masters' }, '400'],
    [{ 'Impersonate-Uid': '1' }, '400'],
    [{ 'Impersonate-Extra-Scopes': 'a' }, '400'],
    [{ 'Impersonate-Groups': 'a' }, '400'],
  ];
  for (const [headers, seen] of rows) {
    test(`${JSON.stringify(headers)}: ${seen}`, async () => assert.equal(await as(headers), seen));
  }

  test('who may not impersonate gets no more by asking for it', async () => {
    for (const headers of [
      { 'impersonate-user': 'root', 'impersonate-group': 'system:masters' },
      { 'impersonate-user': 'jane' },
    ]) {
      for (const who of ['anonymous', { token: 'secret-of-jane' }] as const) {
        const answer = await server.get('/api/v1/namespaces', { headers, as: who });
        assert.equal(answer.status, 403, answer.text);
        assert.match(answer.text, /cannot impersonate resource \\"users\\"/);
      }
    }
  });
});

test('no header is dropped because there are many', async () => {
  const many = Array.from({ length: 4_000 }, (_, n) => `a${n}:1`);
  for (const count of [100, 1_990, 2_100, 4_000]) {
    const text = requestText('GET', '/api/v1/namespaces', ...many.slice(0, count), 'authorization: Bearer wrong');
    const answer = await sendRaw(server, text, withoutCertificate);
    assert.match(answer, /^HTTP\/1\.1 (401|431) /, `${count} headers`);
  }
});
