import type { Caller } from '../../base/caller.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import { type Jwt, type JwtFields, unverifiedJwt } from '../jwt.ts';
import { claimedIssuer, IdTokenError, type IdTokenRules, verifyIdToken } from './id-token.ts';
import type { KeySource } from './key-source.ts';
import type { ProviderConnection } from './provider-connection.ts';

/** Source of a distributed claim (OpenID Connect Core section 5.6.2). */
interface ClaimSource {
  readonly endpoint: URL;
  /** Bearer token for the endpoint, from the verified ID token. */
  readonly accessToken: string | undefined;
}

interface DistributedClaimsOptions {
  readonly connection: ProviderConnection;
  readonly clock: Clock;
  readonly rules: IdTokenRules;
  /** The provider's own issuer, which may sign the claim too. */
  readonly issuer: string;
  readonly keys: KeySource;
  /** Creates the key source of another issuer, which starts fetching. */
  readonly keysOf: (issuer: string) => KeySource;
}

/**
 * Resolves a distributed claim of a verified token: fetches another JWT from the https endpoint that the token names,
 * using the provider's trust roots. That JWT may be signed by any https issuer. As in kube-apiserver, this works only
 * for the groups claim, and not in expressions.
 */
export class DistributedClaims implements Closable {
  readonly #options: DistributedClaimsOptions;
  readonly #others = new Map<string, KeySource>();
  #fetching = 0;

  constructor(options: DistributedClaimsOptions) {
    this.#options = options;
  }

  /**
   * The claims including the claim `name`. Synchronous and unchanged if it is already present or has no source. Throws
   * or rejects with an IdTokenError. The fetch is aborted by the caller's signal.
   */
  resolve(claims: JwtFields, name: string, caller?: Caller): JwtFields | Promise<JwtFields> {
    if (Object.hasOwn(claims, name)) return claims;
    const source = findSource(claims, name);
    return source ? this.#bounded(() => this.#fetch(claims, name, source, caller)) : claims;
  }

  async #bounded<T>(fetch: () => Promise<T>): Promise<T> {
    if (this.#fetching >= limits.oidcWaitingMax)
      throw new IdTokenError('busy', 'too many tokens are waiting for distributed claims');
    this.#fetching += 1;
    try {
      return await fetch();
    } finally {
      this.#fetching -= 1;
    }
  }

  async #fetch(claims: JwtFields, name: string, source: ClaimSource, caller: Caller | undefined): Promise<JwtFields> {
    const body = await this.#get(source, caller);
    const jwt = unverifiedJwt(body.toString('latin1').trim());
    if (!jwt) throw failed('its source did not answer with a token');
    await this.#verify(jwt);
    if (!Object.hasOwn(jwt.claims, name)) throw failed('the token of its source does not have it');
    // A computed key always defines an own property, even for `__proto__`.
    return { ...claims, [name]: jwt.claims[name] };
  }

  async #get({ endpoint, accessToken }: ClaimSource, caller: Caller | undefined): Promise<Buffer> {
    const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` };
    try {
      return await this.#options.connection.get(endpoint, {
        bytesMax: limits.tokenLengthMax,
        headers,
        signal: caller?.signal,
      });
    } catch (error) {
      throw failed('its source does not answer', error);
    }
  }

  async #verify(jwt: Jwt): Promise<void> {
    const { clock, rules } = this.#options;
    const issuer = claimedIssuer(jwt);
    if (issuer === undefined) throw failed('the token of its source has no issuer');
    const keys = this.#keysOf(issuer);
    if (!keys.keys) await keys.renew();
    await verifyIdToken(jwt, keys, rules, clock.now());
  }

  #keysOf(issuer: string): KeySource {
    const { issuer: own, keys, keysOf } = this.#options;
    if (issuer === own) return keys;
    const known = this.#others.get(issuer);
    if (known) return known;
    if (URL.parse(issuer)?.protocol !== 'https:') throw failed('the issuer of the token of its source is not https');
    if (this.#others.size >= limits.oidcClaimIssuersMax) throw failed('too many issuers vouch for claims');
    const added = keysOf(issuer);
    this.#others.set(issuer, added);
    return added;
  }

  close(): void {
    for (const source of this.#others.values()) source.close();
  }
}

/** Undefined if the claim is not distributed: it has no source, or the source is aggregated, which is not supported. */
function findSource(claims: JwtFields, name: string): ClaimSource | undefined {
  const names = getOwn(claims, '_claim_names');
  if (names === undefined) return undefined;
  if (!isRecord(names)) throw failed('_claim_names is not an object');
  const sourceName = getOwn(names, name);
  if (sourceName === undefined) return undefined;
  const sources = getOwn(claims, '_claim_sources');
  const source = isRecord(sources) && typeof sourceName === 'string' ? getOwn(sources, sourceName) : undefined;
  if (!isRecord(source)) throw failed('its source is not among _claim_sources');
  const endpoint = getOwn(source, 'endpoint');
  return endpoint === undefined || endpoint === '' ? undefined : readSource(endpoint, getOwn(source, 'access_token'));
}

function readSource(endpoint: unknown, accessToken: unknown): ClaimSource {
  const address = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  if (address?.protocol !== 'https:') throw failed('its source is not an https address');
  if (accessToken === undefined || accessToken === '') return { endpoint: address, accessToken: undefined };
  // Other characters could inject headers.
  if (typeof accessToken !== 'string' || !/^[\x21-\x7e]+$/.test(accessToken)) {
    throw failed('the access token of its source is not one');
  }
  return { endpoint: address, accessToken };
}

const failed = (problem: string, cause?: unknown) =>
  new IdTokenError('distributedClaim', `the distributed claim cannot be resolved: ${problem}`, cause);
