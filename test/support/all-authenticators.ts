import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestProvider } from '../../src/authn/oidc/provider-fixture.ts';
import {
  type CertificateRecipe,
  forClients,
  type MadeCertificate,
  makeCertificate,
} from '../../src/pki/certificate-fixture.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import type { Shown } from './identity.ts';
import type { OrchProcess } from './orch-process.ts';
import { TokenWebhook } from './token-webhook.ts';

const issuer = 'https://accounts.example.com';
export const apiAudiences = ['api-one', 'api-two'] as const;
export const staticToken = 'static-secret-of-stan';
const bootstrapToken = 'abcdef.0123456789abcdef';
const webhookToken = 'webhook-secret-of-wanda';

/** A kind of credential: who shows it, and some that look like it and do not hold. */
export interface CredentialKind {
  readonly kind: string;
  readonly username: string;
  readonly good: Shown;
  readonly bad: readonly Shown[];
}

/** Everything that every authenticator needs (spec section 5), in a folder that goes with it. */
export class AllAuthenticators implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'authenticators-'));
  readonly users = makeCertificate({ name: 'users', authority: true });
  readonly proxies = makeCertificate({ name: 'proxies', authority: true });
  readonly provider: TestProvider;
  readonly webhook: TokenWebhook;

  private constructor(provider: TestProvider, webhook: TokenWebhook) {
    this.provider = provider;
    this.webhook = webhook;
    webhook.review = ({ token }) =>
      token === webhookToken
        ? {
            authenticated: true,
            user: { username: 'wanda', uid: 'w-1', groups: ['hooked'], extra: { Team: ['a', 'b'] } },
          }
        : { authenticated: false };
  }

  static async start(): Promise<AllAuthenticators> {
    const [provider, webhook] = await Promise.all([TestProvider.start(), TokenWebhook.start()]);
    return new AllAuthenticators(provider, webhook);
  }

  /** Writes a file; its path. */
  file(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** A certificate for clients. */
  leaf(recipe: CertificateRecipe): MadeCertificate {
    return makeCertificate({ uses: [forClients], ...recipe });
  }

  /** The flags that enable all of them. */
  flags(): string[] {
    return [
      `--token-auth-file=${this.file('tokens.csv', `${staticToken},stan,s-1,"one,two"\n`)}`,
      `--client-ca-file=${this.file('users.pem', this.users.cert)}`,
      `--requestheader-client-ca-file=${this.file('proxies.pem', this.proxies.cert)}`,
      '--requestheader-allowed-names=front,side',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--service-account-issuer=${issuer}`,
      `--service-account-signing-key-file=${this.file('signing.key', keyToPem(generateKey()))}`,
      `--api-audiences=${apiAudiences}`,
      '--enable-bootstrap-token-auth',
      `--oidc-issuer-url=${this.provider.url}`,
      '--oidc-client-id=orch',
      '--oidc-username-prefix=oidc:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=oidc:',
      '--oidc-signing-algs=ES256',
      `--oidc-ca-file=${this.file('provider.pem', this.provider.certificateAuthority)}`,
      `--authentication-token-webhook-config-file=${this.webhook.connectionFile()}`,
      '--authentication-token-webhook-version=v1',
    ];
  }

  /** Makes what stands in the API for some of them, and gives one credential of each kind. */
  async credentials(server: OrchProcess): Promise<readonly CredentialKind[]> {
    const accountToken = await this.#accountToken(server);
    await makeBootstrapSecret(server, bootstrapToken);
    const clients = this.leaf({ name: 'carol', organizations: ['certified'], issuer: this.users });
    const stranger = makeCertificate({ name: 'users', authority: true });
    const proxy = this.leaf({ name: 'front', issuer: this.proxies });
    const says = { 'X-Remote-User': 'paul', 'X-Remote-Group': ['proxied', 'more'], 'X-Remote-Extra-Scopes': 'x' };
    const idToken = this.provider.token({ sub: 'olga', groups: ['ids'] });
    return [
      { kind: 'a static token', username: 'stan', good: { token: staticToken }, bad: [{ token: `${staticToken}x` }] },
      {
        kind: 'a client certificate',
        username: 'carol',
        good: pair(clients),
        bad: [
          pair(this.leaf({ name: 'carol', issuer: stranger })),
          pair(this.leaf({ name: 'carol', issuer: this.users, uses: ['1.3.6.1.5.5.7.3.1'] })),
        ],
      },
      {
        kind: 'the headers of a proxy',
        username: 'paul',
        good: { ...pair(proxy), headers: says },
        bad: [
          { ...pair(this.leaf({ name: 'other', issuer: this.proxies })), headers: says },
          { ...pair(this.leaf({ name: 'front', issuer: stranger })), headers: says },
        ],
      },
      {
        kind: 'a token of a service account',
        username: 'system:serviceaccount:default:robot',
        good: { token: accountToken },
        bad: tampered(accountToken),
      },
      {
        kind: 'a bootstrap token',
        username: 'system:bootstrap:abcdef',
        good: { token: bootstrapToken },
        bad: [{ token: 'abcdef.0123456789abcdee' }, { token: 'fedcba.0123456789abcdef' }],
      },
      { kind: 'an ID token', username: 'oidc:olga', good: { token: idToken }, bad: tampered(idToken) },
      {
        kind: 'a token that a webhook knows',
        username: 'wanda',
        good: { token: webhookToken },
        bad: [{ token: `${webhookToken}-not` }],
      },
    ];
  }

  async #accountToken(server: OrchProcess): Promise<string> {
    await server.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
    return requestToken(server, 'robot');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.provider[Symbol.asyncDispose](), this.webhook[Symbol.asyncDispose]()]);
    rmSync(this.folder, { recursive: true });
  }
}

const pair = ({ cert, key }: MadeCertificate): Shown => ({ cert, key });

/** Tokens that were changed after they were signed, or are cut short. */
function tampered(token: string): readonly Shown[] {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const other = Buffer.from(claims, 'base64url')
    .toString()
    .replace(/"sub":"[^"]+"/, '"sub":"root"');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const changed = signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
  return [
    [header, Buffer.from(other).toString('base64url'), signature],
    [none, claims, ''],
    [header, claims, changed],
    [header, claims, ''],
    [header, claims],
  ].map((parts) => ({ token: parts.join('.') }));
}

/** A token of an account in the namespace `default` (spec section 2.3). */
export async function requestToken(
  server: OrchProcess,
  account: string,
  spec: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${account}/token`;
  const { status, text, json } = await server.post<{ readonly status: { readonly token: string } }>(path, { spec });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json.status.token;
}

/** The Secret of a bootstrap token (spec section 5.4); `data` is added to what makes it good for authentication. */
export async function makeBootstrapSecret(
  server: OrchProcess,
  token: string,
  data: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [id = '', secret = ''] = token.split('.');
  const { status, text } = await server.post('/api/v1/namespaces/orch-system/secrets', {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.orch.io/token',
    stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true', ...data },
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
}
