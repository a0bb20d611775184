import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { authenticationFlags } from '../../src/cli/flags/authentication-flags.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { Command } from '../support/command.ts';

/** Flags that say who may come in (spec section 5), and cannot be: one line that names the flag, and exit code 1. */

let folder: string;
const at = (name: string): string => join(folder, name);

const config = (more: object): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'AuthenticationConfiguration', ...more });
const jwt = (issuer: object = {}, more: object = {}) => ({
  issuer: { url: 'https://issuer.example.com', audiences: ['a'], ...issuer },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
  ...more,
});
const connection = (cluster: object, user: object = {}): string =>
  JSON.stringify({
    clusters: [{ name: 'a', cluster }],
    users: [{ name: 'a', user }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  });

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'flags-'));
  const shortKey = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const edKey = generateKeyPairSync('ed25519').privateKey;
  for (const [name, content] of Object.entries({
    'ca.pem': makeCertificate({ authority: true }).cert,
    'ec.key': keyToPem(generateKey()),
    'short.key': keyToPem(shortKey),
    'ed.key': keyToPem(edKey),
    garbage: 'nothing of the kind\n',
    empty: '',
    'columns.csv': 'a,b,1\ntoken-one,b\n',
    'twice.csv': 'token-one,b,1\n\ntoken-one,c,2\n',
    'quote.csv': 'token-one,b,1,"one\n',
    'groups.csv': 'token-one,b,1,one,two\n',
    'anonymous.json': config({ anonymous: { enabled: true } }),
    'paths.json': config({ anonymous: { enabled: false, conditions: [{ path: '/livez' }] } }),
    'unknown.json': config({ jwts: [] }),
    'kind.json': config({ kind: 'AuthorizationConfiguration' }),
    'twice.json': config({ jwt: [jwt(), jwt()] }),
    'http.json': config({ jwt: [jwt({ url: 'http://issuer.example.com' })] }),
    'own.json': config({ jwt: [jwt({ url: 'https://own.example.com' })] }),
    'cel.json': config({ jwt: [jwt({}, { claimMappings: { username: { expression: 'claims.sub +' } } })] }),
    'email.json': config({ jwt: [jwt({}, { claimMappings: { username: { expression: 'claims.email' } } })] }),
    'many.json': config({ jwt: Array.from({ length: 65 }, (_, n) => jwt({ url: `https://issuer-${n}.example.com` })) }),
    'ftp.kubeconfig': connection({ server: 'ftp://127.0.0.1:1' }),
    'both.kubeconfig': connection({ server: 'https://a' }, { token: 'a-secret', username: 'b', password: 'c' }),
    'exec.kubeconfig': connection({ server: 'https://a' }, { exec: { command: 'x', apiVersion: 'v1' } }),
  })) {
    writeFileSync(at(name), content);
  }
});
after(() => rmSync(folder, { recursive: true }));

/** `@name` stands for a file of the test. */
const given = (line: string): string[] => line.split(' ').map((flag) => flag.replaceAll('@', `${folder}/`));

async function run(command: string, line: string): Promise<{ readonly code: number; readonly err: string }> {
  let err = '';
  const terminal = { out: () => {}, err: (text: string) => (err += text), interactive: false };
  const code = await runCommandLine([command, `--data-dir=${at('data')}`, '--secure-port=0', ...given(line)], terminal);
  return { code, err };
}

const signing = '--service-account-signing-key-file=@ec.key';
const issuer = '--service-account-issuer=https://own.example.com';
const oidc = '--oidc-issuer-url=https://issuer.example.com --oidc-client-id=a';
const proxies = '--requestheader-client-ca-file=@ca.pem --requestheader-username-headers=X-User';

const refused: readonly (readonly [flags: string, message: RegExp])[] = [
  ['--anonymous-auth=maybe', /--anonymous-auth: "maybe" is neither true nor false/],
  ['--api-audiences=', /--api-audiences: .*empty/],
  ['--token-auth-file=@nowhere', /--token-auth-file: .*nowhere cannot be read/],
  ['--token-auth-file=@columns.csv', /--token-auth-file: .*columns\.csv:2: 2 columns/],
  ['--token-auth-file=@twice.csv', /--token-auth-file: .*twice\.csv:3: the token is that of line 1 too/],
  ['--token-auth-file=@quote.csv', /--token-auth-file: .*quote\.csv:1: a quote/],
  ['--token-auth-file=@groups.csv', /--token-auth-file: .*groups\.csv:1: 5 columns/],
  ['--client-ca-file=@nowhere', /--client-ca-file: .*nowhere cannot be read/],
  ['--client-ca-file=@garbage', /--client-ca-file: .*garbage has no PEM block of a CERTIFICATE/],
  ['--client-ca-file=@empty', /--client-ca-file: .*empty has no PEM/],
  ['--client-ca-file=@ec.key', /--client-ca-file: .*ec\.key has no PEM block of a CERTIFICATE/],
  ['--requestheader-client-ca-file=@ca.pem', /--requestheader-client-ca-file needs --requestheader-username-headers/],
  ['--requestheader-username-headers=X-User', /--requestheader-username-headers needs --requestheader-client-ca-file/],
  ['--requestheader-group-headers=X-Group', /--requestheader-group-headers needs --requestheader-client-ca-file/],
  ['--requestheader-extra-headers-prefix=X-', /--requestheader-extra-headers-prefix needs --requestheader-client-ca/],
  ['--requestheader-allowed-names=front', /--requestheader-allowed-names needs --requestheader-client-ca-file/],
  [`${proxies} --requestheader-group-headers=X:Group`, /--requestheader-group-headers: "X:Group" cannot be the name/],
  [`${proxies} --requestheader-uid-headers=X-Uid`, /--requestheader-uid-headers needs .*RemoteRequestHeaderUID=true/],
  ['--requestheader-client-ca-file=@empty --requestheader-username-headers=X', /--requestheader-client-ca-file: /],
  ['--service-account-key-file=@garbage', /--service-account-key-file: .*garbage has no PEM block of a key/],
  ['--service-account-key-file=@short.key', /--service-account-key-file: .*short\.key .* rsa of 1024 bits/],
  ['--service-account-key-file=@ed.key', /--service-account-key-file: .*ed\.key .* ed25519/],
  [`${issuer} --service-account-signing-key-file=@ca.pem`, /--service-account-signing-key-file: .*private key/],
  [issuer, /--service-account-issuer: needs --service-account-signing-key-file/],
  [signing, /--service-account-signing-key-file: needs --service-account-issuer/],
  [`${signing} --service-account-issuer=`, /--service-account-issuer: must not be empty/],
  [`${signing} ${issuer} ${issuer}`, /--service-account-issuer: "https:\/\/own\.example\.com" is given twice/],
  [`${signing} ${issuer} --service-account-issuer=http://a:b`, /--service-account-issuer: .*no URL/],
  ['--service-account-jwks-uri=http://a', /--service-account-jwks-uri: "http:\/\/a" is no https URL/],
  ['--service-account-lookup=no-thanks', /--service-account-lookup: /],
  ['--service-account-max-token-expiration=59m', /--service-account-max-token-expiration: must be between 1 hour/],
  ['--service-account-extend-token-expiration=2', /--service-account-extend-token-expiration: /],
  ['--enable-bootstrap-token-auth=on', /--enable-bootstrap-token-auth: /],
  ['--oidc-issuer-url=https://a', /--oidc-issuer-url and --oidc-client-id/],
  ['--oidc-client-id=a', /--oidc-issuer-url and --oidc-client-id/],
  ['--oidc-groups-claim=g', /--oidc-issuer-url and --oidc-client-id/],
  ['--oidc-client-id=a --oidc-issuer-url=http://a', /--oidc-issuer-url: .*https/],
  ['--oidc-client-id=a --oidc-issuer-url=https://a?b', /--oidc-issuer-url: .*query/],
  [`${oidc} --oidc-ca-file=@garbage`, /--oidc-ca-file: .*garbage has no PEM/],
  [`${oidc} --oidc-signing-algs=RS256,none`, /--oidc-signing-algs: .*"none"/],
  [`${oidc} --oidc-required-claim=a`, /--oidc-required-claim: "a" is not KEY=VALUE/],
  [`${oidc} --authentication-config=@anonymous.json`, /--authentication-config and the --oidc-\* flags/],
  [`${signing} ${issuer} --oidc-client-id=a --oidc-issuer-url=https://own.example.com`, /--oidc-issuer-url: /],
  ['--authentication-config=@nowhere', /--authentication-config: .*nowhere cannot be read/],
  ['--authentication-config=@garbage', /--authentication-config: .*garbage: /],
  ['--authentication-config=@kind.json', /--authentication-config: .*kind\.json: kind: /],
  ['--authentication-config=@unknown.json', /--authentication-config: .*unknown\.json: .*jwts/],
  ['--authentication-config=@twice.json', /--authentication-config: .*jwt\[1\]\.issuer\.url: Duplicate value/],
  ['--authentication-config=@http.json', /--authentication-config: .*jwt\[0\]\.issuer\.url: .*https/],
  ['--authentication-config=@cel.json', /--authentication-config: .*jwt\[0\]\.claimMappings\.username\.expression: /],
  ['--authentication-config=@email.json', /--authentication-config: .*claims\.email_verified/],
  ['--authentication-config=@many.json', /--authentication-config: .*jwt: .*64/],
  ['--authentication-config=@paths.json', /--authentication-config: .*anonymous\.conditions: /],
  [`${signing} ${issuer} --authentication-config=@own.json`, /--authentication-config: .*jwt\[0\]\.issuer\.url: /],
  [
    '--authentication-config=@anonymous.json --anonymous-auth=true',
    /--authentication-config: .*--anonymous-auth cannot/,
  ],
  [
    '--authentication-config=@anonymous.json --feature-gates=StructuredAuthenticationConfiguration=false',
    /--authentication-config needs --feature-gates=StructuredAuthenticationConfiguration=true/,
  ],
  [
    '--authentication-token-webhook-config-file=@nowhere',
    /--authentication-token-webhook-config-file: .*nowhere: cannot/,
  ],
  ['--authentication-token-webhook-config-file=@garbage', /--authentication-token-webhook-config-file: .*garbage: /],
  ['--authentication-token-webhook-config-file=@ftp.kubeconfig', /-webhook-config-file: .*not of the form https/],
  ['--authentication-token-webhook-config-file=@both.kubeconfig', /-webhook-config-file: .*exclude each other/],
  ['--authentication-token-webhook-config-file=@exec.kubeconfig', /-webhook-config-file: .*apiVersion/],
  [
    '--authentication-token-webhook-version=v2',
    /--authentication-token-webhook-version: "v2" is not one of v1beta1, v1/,
  ],
  ['--authentication-token-webhook-cache-ttl=-1s', /--authentication-token-webhook-cache-ttl: /],
];

describe('a flag that cannot be', () => {
  for (const [line, message] of refused) {
    test(line, { timeout: 10_000 }, async () => {
      const { code, err } = await run('apiserver', line);
      assert.match(err, message);
      assert.match(err, /^orch apiserver: .*\n$/, 'is one line');
      assert.equal(code, 1);
      assert.doesNotMatch(err, /token-one|a-secret|-----BEGIN/);
    });
  }

  test('every flag is among them', () => {
    const lines = refused.map(([line]) => line).join(' ');
    // Any text is good for these, where they may be given at all.
    const free = /^oidc-(username-(claim|prefix)|groups-prefix)$/;
    const missing = Object.keys(authenticationFlags).filter(
      (flag) => !free.test(flag) && !lines.includes(`--${flag}=`),
    );
    assert.deepEqual(missing, []);
  });

  test('ends the program itself, and no keys are made before', async () => {
    const data = at('untouched');
    await using failing = new Command('up', `--data-dir=${data}`, ...given('--token-auth-file=@columns.csv'));
    assert.equal(await failing.exit(), 1);
    assert.match(failing.err, /^orch up: --token-auth-file: .*\n$/);
    assert.equal(failing.out, '');
    assert.equal(existsSync(join(data, 'pki')), false);
  });
});
