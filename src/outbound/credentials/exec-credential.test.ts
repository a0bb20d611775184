import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CredentialPlugin, KeyPairPem } from '../connection-config.ts';
import { TlsFixture } from '../tls-fixture.ts';
import { execCredentialRequest, readExecCredential } from './exec-credential.ts';

const apiVersion = 'client.authentication.orch.io/v1';
let [pair, other]: KeyPairPem[] = [];
let fixture: TlsFixture;
before(async () => {
  fixture = new TlsFixture();
  await fixture.listen();
  [pair, other] = [fixture.issue('a'), fixture.issue('b')];
});
after(async () => fixture.close());

it('the input of a plugin', () => {
  const plugin = { apiVersion, cluster: undefined } as CredentialPlugin;
  const kind = 'ExecCredential';
  assert.deepEqual(JSON.parse(execCredentialRequest(plugin, true)), { kind, apiVersion, spec: { interactive: true } });
  const cluster = { server: 'https://h', config: { large: 2n ** 60n } };
  assert.equal(
    execCredentialRequest({ ...plugin, cluster }, false),
    '{"kind":"ExecCredential","apiVersion":"client.authentication.orch.io/v1",' +
      '"spec":{"cluster":{"server":"https://h","config":{"large":1152921504606846976}},"interactive":false}}',
  );
});

const answer = (status: unknown): string => JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: {}, status });
const read = (text: string) => readExecCredential(Buffer.from(text), apiVersion);
const data = ({ certificate, key }: Partial<KeyPairPem> = {}) => ({
  clientCertificateData: certificate,
  clientKeyData: key,
});

describe('the output of a plugin', () => {
  it('a token', () => {
    assert.deepEqual(read(answer({ token: 't', clientKeyData: '', expirationTimestamp: null })), {
      credential: { authorization: 'Bearer t' },
      expiresAt: undefined,
    });
  });

  it('in YAML, as client-go accepts it', () => {
    const text = `\n---\nkind: ExecCredential\napiVersion: ${apiVersion}\nstatus:\n  token: t\n`;
    assert.equal(read(text).credential.authorization, 'Bearer t');
  });

  it('a certificate with intermediate ones, and when it expires', () => {
    const chain = { certificate: `${pair?.certificate}${fixture.authorities}`, key: pair?.key ?? '' };
    const { credential, expiresAt } = read(
      answer({ ...data(chain), expirationTimestamp: '2026-01-02T03:04:05+01:00' }),
    );
    assert.deepEqual(credential, { certificate: chain });
    assert.equal(expiresAt, Date.UTC(2026, 0, 2, 2, 4, 5));
  });

  it('both', () => {
    const { credential } = read(answer({ ...data(pair), token: 't' }));
    assert.deepEqual(credential, { authorization: 'Bearer t', certificate: pair });
  });

  const kind = 'ExecCredential';
  for (const [what, text, message] of [
    ['nothing', '', /no object in JSON$/],
    ['a bare token', 'secret', /no object in JSON$/],
    ['broken JSON', '{"status":{"token":"secret"}', /no object in JSON$/],
    ['two documents', `${answer({ token: 'secret' })}${answer({ token: 'secret' })}`, /no object in JSON$/],
    ['another kind', '{"kind":"Status"}', /not of kind ExecCredential but "Status"$/],
    ['a kind that is a secret', `{"kind":"${'secret'.repeat(20)}"}`, /but something else$/],
    ['no version', `{"kind":"${kind}"}`, /apiVersion client.authentication.orch.io\/v1 but something else$/],
    ['another version', JSON.stringify({ kind, apiVersion: `${apiVersion}beta1` }), /v1 but ".*\/v1beta1"$/],
    ['no status', JSON.stringify({ kind, apiVersion }), /no status$/],
    ['an empty status', answer({}), /neither a token nor a certificate$/],
    ['only empty texts', answer({ token: '', clientKeyData: '' }), /neither a token nor a certificate$/],
    ['a token that is none', answer({ token: 7 }), /status.token of its answer is no text$/],
    ['a token with a line break', answer({ token: 'secret\n' }), /status.token of its answer has characters/],
    ['only a key', answer({ clientKeyData: 'secret' }), /only one of certificate and key$/],
    ['only a certificate', answer({ token: 't', clientCertificateData: 'x' }), /only one of certificate and key$/],
    ['no PEM', answer({ clientCertificateData: 'secret', clientKeyData: 'secret' }), /the certificate is not in PEM$/],
    ['no expiry', answer({ token: 'secret', expirationTimestamp: '' }), /expirationTimestamp .* no RFC 3339 time$/],
    ['a date', answer({ token: 'secret', expirationTimestamp: '2026-01-02' }), /no RFC 3339 time$/],
    ['a number as a time', answer({ token: 'secret', expirationTimestamp: 1 }), /no RFC 3339 time$/],
  ] as const) {
    it(`refused: ${what}`, () => assertRefused(text, message));
  }

  it('refused: a key that does not belong to the certificate', () => {
    assertRefused(
      answer(data({ certificate: pair?.certificate, key: other?.key } as KeyPairPem)),
      /does not belong to/,
    );
    assertRefused(answer(data({ certificate: pair?.certificate ?? '', key: 'secret' })), /the key is not in PEM/);
  });
});

function assertRefused(text: string, message: RegExp): void {
  assert.throws(
    () => read(text),
    (error) => error instanceof Error && message.test(error.message) && !error.message.includes('secret'),
  );
}
