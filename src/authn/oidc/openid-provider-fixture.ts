import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';
import { once } from '../../base/waits-fixture.ts';
import { signatureAlgorithms } from '../../pki/signature-algorithm.ts';
import { loopbackCertificate, type TestKey } from './provider-fixture.ts';

const redirectUri = 'https://client.example.com/callback';

/** A user at the provider, and their claims. */
interface Person {
  readonly sub: string;
  readonly groups?: readonly string[];
  readonly email?: string;
  readonly email_verified?: boolean;
}

/**
 * Test support: a provider of the package oidc-provider, over TLS on the loopback interface, with a client that logs
 * users in through the authorization code flow with PKCE, like a command-line tool.
 */
export class OpenIdProvider implements AsyncDisposable {
  readonly certificateAuthority: string;
  readonly clientId = 'orch';
  readonly #server: https.Server;
  readonly #people: ReadonlyMap<string, Person>;
  readonly #cookies = new Map<string, string>();
  #provider: Provider | undefined;
  #port = 0;

  private constructor(people: readonly Person[]) {
    this.#people = new Map(people.map((person) => [person.sub, person]));
    const { cert, key } = loopbackCertificate();
    this.certificateAuthority = cert;
    this.#server = https.createServer({ cert, key }, (request, response) => void this.#answer(request, response));
  }

  static async start(people: readonly Person[], keys: readonly TestKey[]): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider(people);
    await provider.up();
    provider.rotate(keys);
    return provider;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Listens; after `down` on the same port as before. */
  async up(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async down(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Replaces the keys; the first one signs. */
  rotate(keys: readonly TestKey[]): void {
    const client = {
      client_id: this.clientId,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      ...(keys[0] && { id_token_signed_response_alg: keys[0].algorithm }),
    } satisfies ClientMetadata;
    const configuration: Configuration = {
      clients: [client],
      jwks: {
        keys: keys.map(({ id, algorithm, privateKey }) => ({
          ...(privateKey.export({ format: 'jwk' }) as { kty: string }),
          kid: id,
          alg: algorithm,
          use: 'sig',
        })),
      },
      claims: { openid: ['sub'], groups: ['groups'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      cookies: { keys: [randomBytes(16).toString('hex')] },
      enabledJWA: { idTokenSigningAlgValues: [...signatureAlgorithms] },
      features: { devInteractions: { enabled: false } },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => ({ ...this.#people.get(sub), sub }),
      }),
      ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 3600, Interaction: 60, Session: 60 },
    };
    this.#provider = new Provider(this.url, configuration);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#provider) return void response.writeHead(503).end();
    if (request.url?.startsWith('/interaction/')) await this.#consent(this.#provider, request, response);
    else await this.#provider.callback()(request, response);
  }

  /** Logs in the user of `login_hint` and consents to everything. */
  async #consent(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(request, response);
    const accountId = String(params['login_hint']);
    const grant = new provider.Grant({ accountId, clientId: this.clientId });
    grant.addOIDCScope(String(params['scope']));
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  /** Logs a user in and returns the ID token. */
  async login(sub: string): Promise<string> {
    // A new browser session each time.
    this.#cookies.clear();
    const verifier = randomBytes(32).toString('base64url');
    const code = await this.#authorize({
      client_id: this.clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid groups email',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      login_hint: sub,
      prompt: 'login',
    });
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: this.clientId,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      code,
    });
    const { text } = await this.#request(new URL('/token', this.url), body.toString());
    const { id_token: token } = JSON.parse(text) as { readonly id_token?: string };
    if (token === undefined) throw new Error(`no ID token: ${text}`);
    return token;
  }

  /** Follows redirects until they lead back to the client; returns the authorization code. */
  async #authorize(parameters: Readonly<Record<string, string>>): Promise<string> {
    let address = new URL(`/auth?${new URLSearchParams(parameters)}`, this.url);
    while (address.origin === this.url) {
      const { location, text } = await this.#request(address);
      if (location === undefined) throw new Error(`the provider sends nowhere: ${text}`);
      address = new URL(location, address);
    }
    const code = address.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${address}`);
    return code;
  }

  #request(address: URL, body?: string): Promise<{ readonly location: string | undefined; readonly text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ location: string | undefined; text: string }>();
    const cookie = Array.from(this.#cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const headers = {
      cookie,
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const request = https.request(
      address,
      { method, headers, ca: this.certificateAuthority, agent: false },
      (response) => {
        for (const text of response.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
          this.#cookies.set(name, value);
        }
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ location: response.headers.location, text }));
      },
    );
    request.on('error', reject);
    request.end(body);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }
}
