import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemRandom } from '../../base/random.ts';
import { once } from '../../base/waits-fixture.ts';
import { issueSelfSigned } from '../../pki/certificate.ts';
import { generateKey, keyToPem } from '../../pki/keys.ts';
import { makeSignature, type SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';

/** Test support: a key pair of a provider. */
export interface TestKey {
  readonly id: string;
  readonly algorithm: SignatureAlgorithm;
  readonly privateKey: KeyObject;
}

export const ecKey = (id: string, curve: 'P-256' | 'P-384' | 'P-521' = 'P-256'): TestKey => ({
  id,
  algorithm: ({ 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' } as const)[curve],
  privateKey: generateKeyPairSync('ec', { namedCurve: curve }).privateKey,
});

export const rsaKey = (id: string, modulusLength = 2048): TestKey => ({
  id,
  algorithm: 'RS256',
  privateKey: generateKeyPairSync('rsa', { modulusLength }).privateKey,
});

/** The public key as a provider publishes it. */
export const jwkOf = ({ id, privateKey }: TestKey): Record<string, unknown> => ({
  ...createPublicKey(privateKey).export({ format: 'jwk' }),
  kid: id,
});

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A signed token; header fields set to undefined are omitted. */
export function signToken(key: TestKey, claims: unknown, header: Readonly<Record<string, unknown>> = {}): string {
  const input = `${encode({ alg: key.algorithm, kid: key.id, ...header })}.${encode(claims)}`;
  const algorithm = (header['alg'] as SignatureAlgorithm | undefined) ?? key.algorithm;
  return `${input}.${makeSignature(algorithm, key.privateKey, Buffer.from(input)).toString('base64url')}`;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const day = 24 * 3600_000;

/** A self-signed certificate for 127.0.0.1 and its key. PEM. */
export function loopbackCertificate(): { readonly cert: string; readonly key: string } {
  const key = generateKey();
  const request = {
    subject: { commonName: 'provider' },
    publicKey: createPublicKey(key),
    uses: ['serverAuth'],
    hosts: ['127.0.0.1'],
    notBefore: Date.now() - day,
    notAfter: Date.now() + day,
  } as const;
  return { cert: issueSelfSigned(request, key, systemRandom).toString(), key: keyToPem(key) };
}

/** Test support: a minimal OpenID Connect provider on the loopback interface with configurable responses. */
export class TestProvider implements AsyncDisposable {
  keys: readonly TestKey[];
  /** Handlers that override the default response, by path. */
  readonly instead = new Map<string, Handler>();
  /** Requested paths, in order. */
  readonly requests: string[] = [];
  /** Headers of the last request. */
  headers: IncomingMessage['headers'] = {};
  readonly certificateAuthority: string;
  readonly #server: https.Server;
  #port = 0;

  private constructor(keys: readonly TestKey[]) {
    this.keys = keys;
    const { cert, key } = loopbackCertificate();
    this.certificateAuthority = cert;
    this.#server = https.createServer({ cert, key }, (request, response) => this.#answer(request, response));
  }

  static async start(keys: readonly TestKey[] = [ecKey('one')]): Promise<TestProvider> {
    const provider = new TestProvider(keys);
    await provider.up();
    return provider;
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

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Number of requests for the keys. */
  get keyRequests(): number {
    return this.requests.filter((path) => path === '/keys').length;
  }

  answerInstead(path: string, status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.instead.set(path, (_request, response) => {
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    this.headers = request.headers;
    const instead = this.instead.get(path);
    if (instead) instead(request, response);
    else this.#answerPath(path, response);
  }

  #answerPath(path: string, response: ServerResponse): void {
    const documents: Readonly<Record<string, unknown>> = {
      '/.well-known/openid-configuration': { issuer: this.url, jwks_uri: `${this.url}/keys` },
      '/keys': { keys: this.keys.map(jwkOf) },
    };
    const document = documents[path];
    response.statusCode = document ? 200 : 404;
    response.end(JSON.stringify(document ?? {}));
  }

  /** Settings for this provider: user name from `sub`, groups from `groups`. */
  settings(more: Partial<JwtAuthenticator> = {}, issuer: Partial<JwtAuthenticator['issuer']> = {}): JwtAuthenticator {
    return {
      issuer: {
        url: this.url,
        certificateAuthority: this.certificateAuthority,
        audiences: ['orch'],
        ...issuer,
      },
      signingAlgorithms: ['ES256', 'RS256'],
      identify: (claims) => ({
        username: String(claims['sub']),
        uid: '',
        groups: (claims['groups'] as string[] | undefined) ?? [],
        extra: {},
      }),
      ...more,
    };
  }

  /** Claims of the user jane, valid for an hour. */
  claims(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return { iss: this.url, aud: 'orch', sub: 'jane', exp: Math.floor(Date.now() / 1000) + 3600, ...more };
  }

  /** A token signed with the first key. */
  token(more: Readonly<Record<string, unknown>> = {}, header: Readonly<Record<string, unknown>> = {}): string {
    const [key] = this.keys;
    if (!key) throw new Error('the provider has no key');
    return signToken(key, this.claims(more), header);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }
}
