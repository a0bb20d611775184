import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestProvider } from '../src/authn/oidc/provider-fixture.ts';
import { accountName, accountToken, create, makeBootstrapToken, namespace, secretToken } from './api-objects.ts';
import { ClientAuthority, type ClientPair } from './client-authority.ts';
import type { Product } from './product.ts';
import { TokenWebhook } from './token-webhook.ts';
import type { Workspace } from './workspace.ts';

const staticToken = 'a-token-of-the-token-file';
const webhookToken = 'a-token-that-only-the-webhook-knows';
const bootstrapToken = { id: 'abcdef', secret: '0123456789abcdef' };

/** What a client shows to be let in, and as whom it is then known. */
export interface Credential {
  readonly name: string;
  readonly username: string;
  readonly pair: ClientPair;
  readonly headers: Readonly<Record<string, string>>;
  /** What is said of it is remembered for a while. */
  readonly cached: boolean;
}

/** Everything that all authenticators need (spec section 5), beside the product: a provider, a webhook, files. */
export class CredentialSources implements AsyncDisposable {
  readonly #directory: string;
  readonly #users: ClientAuthority;
  readonly #proxies: ClientAuthority;
  readonly #provider: TestProvider;
  readonly #webhook: TokenWebhook;

  private constructor(directory: string, provider: TestProvider, webhook: TokenWebhook) {
    this.#directory = directory;
    this.#users = new ClientAuthority(directory, 'users');
    this.#proxies = new ClientAuthority(directory, 'proxies');
    this.#provider = provider;
    this.#webhook = webhook;
  }

  static async start(workspace: Workspace): Promise<CredentialSources> {
    const directory = workspace.freshPath('credentials');
    const webhook = await TokenWebhook.start({ token: webhookToken, username: 'wanda' });
    return new CredentialSources(directory, await TestProvider.start(), webhook);
  }

  /** The flags by which the product takes all of them. */
  flags(): readonly string[] {
    return [
      `--token-auth-file=${this.#file('tokens.csv', `${staticToken},stan,,\n`)}`,
      `--client-ca-file=${this.#users.file}`,
      `--requestheader-client-ca-file=${this.#proxies.file}`,
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--enable-bootstrap-token-auth',
      `--oidc-issuer-url=${this.#provider.url}`,
      `--oidc-ca-file=${this.#file('provider.crt', this.#provider.certificateAuthority)}`,
      '--oidc-client-id=orch',
      '--oidc-username-prefix=-',
      '--oidc-signing-algs=ES256',
      `--authentication-token-webhook-config-file=${this.#file('webhook', this.#webhook.connectionFile())}`,
      '--authentication-token-webhook-version=v1',
    ];
  }

  #file(name: string, content: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  /** Makes what stands in the API for some of them, and gives one credential of each kind. */
  async credentials({ api, access }: Product): Promise<readonly Credential[]> {
    const accountUser = `system:serviceaccount:${namespace}:${accountName}`;
    await create(api, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: accountName } });
    await makeBootstrapToken(api, bootstrapToken.id, bootstrapToken.secret);
    const user = this.#users.issue('carol');
    const proxy = this.#proxies.issue('proxy');
    const remote = { 'x-remote-user': 'paul', 'x-remote-group': 'proxied' };
    return [
      { name: 'client certificate', username: 'carol', pair: user, headers: {}, cached: false },
      bearer('static token', 'stan', staticToken),
      bearer('service account token', accountUser, await accountToken(api)),
      bearer('service account token bound to a pod', accountUser, await accountToken(api, 'pod')),
      bearer('service account token of a Secret', accountUser, await secretToken(api)),
      bearer(
        'bootstrap token',
        `system:bootstrap:${bootstrapToken.id}`,
        `${bootstrapToken.id}.${bootstrapToken.secret}`,
      ),
      { ...bearer('OpenID Connect ID token', 'olga', this.#provider.token({ sub: 'olga' })), cached: true },
      { ...bearer('token that a webhook knows', 'wanda', webhookToken), cached: true },
      { name: 'headers of a proxy', username: 'paul', pair: proxy, headers: remote, cached: false },
      { name: 'impersonation', username: 'ivan', pair: access, headers: { 'impersonate-user': 'ivan' }, cached: false },
    ];
  }

  /** How often the webhook and the provider's keys were asked for. */
  get questions(): number {
    return this.#webhook.questions + this.#provider.keyRequests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#provider[Symbol.asyncDispose](), this.#webhook[Symbol.asyncDispose]()]);
  }
}

const bearer = (name: string, username: string, token: string): Credential => ({
  name,
  username,
  pair: {},
  headers: { authorization: `Bearer ${token}` },
  cached: false,
});
