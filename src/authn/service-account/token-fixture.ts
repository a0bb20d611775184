import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { TokenGrant } from '../../kinds/authentication/token-grant.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { makeSignature, type SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { TokenKeySet } from '../../pki/token-key-files.ts';
import { readSigningKey, type SigningKey, type TokenKey } from '../../pki/token-keys.ts';
import type { TokenAuthenticator } from '../authenticator.ts';
import { type LegacyTokenMark, LegacyTokenUse } from './legacy-token-use.ts';
import type { Freshness, TokenObjects } from './revocation.ts';
import { serviceAccountAuthenticator } from './service-account-authenticator.ts';
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts';
import { registerTokenMetrics } from './token-metrics.ts';

/** Test support: keys, tokens, and an authenticator over objects that a test adds and removes. */

export const makeSigningKey = (algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512' = 'ES256'): SigningKey => {
  const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
  const { privateKey }: { privateKey: KeyObject } =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: curves[algorithm] });
  return readSigningKey(Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })), 'test');
};

export const keySet = (all: readonly TokenKey[], signingKey?: SigningKey): TokenKeySet => ({
  all,
  byId: new Map(all.map((key) => [key.id, key])),
  signingKey,
});

export const encodePart = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A token with any header and claims: strings are used verbatim, anything else as JSON. */
export function signRaw(
  key: SigningKey,
  header: unknown,
  claims: unknown,
  algorithm: SignatureAlgorithm = key.algorithm,
): string {
  const input = `${encodePart(header)}.${encodePart(claims)}`;
  return `${input}.${makeSignature(algorithm, key.privateKey, Buffer.from(input)).toString('base64url')}`;
}

export const issuerName = 'https://issuer.test';
export const account = { namespace: 'team', name: 'alice', uid: 'uid-alice' };
export const apiAudiences = ['api-one', 'api-two'];

const object = (kind: string, metadata: ObjectMeta, more: Readonly<Record<string, unknown>> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind,
  metadata,
  ...more,
});

interface HarnessOptions {
  readonly keys?: readonly TokenKey[];
  readonly signingKey?: SigningKey;
  readonly issuers?: readonly string[];
  readonly scope?: string;
  readonly apiAudiences?: readonly string[];
  readonly lookup?: boolean;
}

/** Test environment: the service account `team/alice` exists, as do the objects added with `put`. */
export class TokenFixture {
  readonly clock = new ManualClock();
  readonly metrics = new Metrics();
  /** Content of the cache, and of the store where it differs; keyed by `resource namespace/name`. */
  readonly cached = new Map<string, ApiObject>();
  readonly stored = new Map<string, ApiObject>();
  /** Look-ups made so far. */
  readonly asked: string[] = [];
  readonly marks: LegacyTokenMark[] = [];
  keys: TokenKeySet;
  signingKey: SigningKey;
  readonly issuer: TokenIssuer;
  readonly authenticator: TokenAuthenticator;

  constructor(options: HarnessOptions = {}) {
    this.signingKey = options.signingKey ?? makeSigningKey();
    this.keys = keySet(options.keys ?? [this.signingKey], this.signingKey);
    const { clock } = this;
    this.issuer = createTokenIssuer({
      issuer: issuerName,
      scope: options.scope ?? '',
      signingKey: () => this.signingKey,
      dialect: orch,
      clock,
      random: systemRandom,
    });
    this.authenticator = serviceAccountAuthenticator({
      dialect: orch,
      keys: () => this.keys,
      issuers: options.issuers ?? [issuerName],
      scope: options.scope ?? '',
      apiAudiences: options.apiAudiences ?? apiAudiences,
      lookup: options.lookup ?? true,
      objects: this.#objects(),
      clock,
      metrics: registerTokenMetrics(this.metrics),
      legacyTokenUse: new LegacyTokenUse({
        mark: async (mark) => {
          this.marks.push(mark);
        },
        dialect: orch,
        clock,
        logger: silentLogger,
      }),
    });
    this.put('serviceaccounts', account);
  }

  #objects(): TokenObjects {
    const find = (key: string, freshness: Freshness) => {
      this.asked.push(`${freshness} ${key}`);
      const cached = this.cached.get(key);
      return freshness === 'cache' ? cached : Promise.resolve(this.stored.get(key) ?? cached);
    };
    return {
      upToDate: () => undefined,
      account: (namespace, name, freshness) => find(`serviceaccounts ${namespace}/${name}`, freshness),
      pod: (namespace, name, freshness) => find(`pods ${namespace}/${name}`, freshness),
      secret: (namespace, name, freshness) => find(`secrets ${namespace}/${name}`, freshness),
      node: (name, freshness) => find(`nodes ${name}`, freshness),
    };
  }

  /** Puts an object into the cache. */
  put(resource: string, metadata: ObjectMeta, more?: Readonly<Record<string, unknown>>): ApiObject {
    const made = object(resource, metadata, more);
    this.cached.set(keyOf(resource, metadata), made);
    return made;
  }

  grant(more: Partial<TokenGrant> = {}): string {
    return atOnce(this.issuer.issue({ account, audiences: apiAudiences, lifetimeSeconds: 3600, ...more })).token;
  }

  /** A token stored in the Secret `team/legacy`, which exists. */
  legacy(more: { readonly metadata?: ObjectMeta } = {}): string {
    const token = atOnce(this.issuer.issueLegacy(account, 'legacy'));
    this.put(
      'secrets',
      { namespace: 'team', name: 'legacy', uid: 'uid-legacy', ...more.metadata },
      { data: { token: Buffer.from(token).toString('base64') } },
    );
    return token;
  }

  /** The result, always as a promise. */
  async authenticate(token: string, audiences: readonly string[] = apiAudiences) {
    return this.authenticator.authenticateToken(token, audiences);
  }

  count(metric: string): number {
    const line = this.metrics
      .render()
      .split('\n')
      .find((each) => each.startsWith(`serviceaccount_${metric}_total `));
    return Number(line?.split(' ')[1] ?? 0);
  }

  get nowSeconds(): number {
    return Math.floor(this.clock.now() / 1000);
  }
}

const keyOf = (resource: string, { namespace, name }: ObjectMeta): string =>
  `${resource} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

/** Unwraps a synchronous result; ECDSA signatures are synchronous. */
export function atOnce<T>(made: T | Promise<T>): T {
  if (made instanceof Promise) throw new TypeError('this is to be waited for');
  return made;
}
