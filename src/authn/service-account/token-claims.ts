import type { Dialect } from '../../dialect/dialect.ts';
import { accountUsername } from '../../request/service-account-user.ts';
import type { Jwt, JwtFields } from '../jwt.ts';
import { type JwtTimes, readSeconds, readTimes } from '../jwt-times.ts';
import type { AccountReference, ObjectReference } from './account-user.ts';

/** Claims of a service account token, parsed and complete but not verified. */
export type TokenClaims = BoundClaims | LegacyClaims;

interface CommonClaims {
  readonly account: AccountReference;
  /** Name of the scope of the account; the claim is absent for ''. */
  readonly scope: string;
  readonly times: JwtTimes;
  /** Absent if the token names none; it is then valid for the API server. */
  readonly audiences: readonly string[] | undefined;
}

/** A token from a TokenRequest: it expires, and becomes invalid with the objects to which it is bound. */
export interface BoundClaims extends CommonClaims {
  readonly kind: 'bound';
  readonly tokenId: string | undefined;
  readonly pod: ObjectReference | undefined;
  readonly secret: ObjectReference | undefined;
  /** Beside a pod only informational: the uid may be missing, and the token stays valid without the node. */
  readonly node: { readonly name: string; readonly uid?: string } | undefined;
  /** Time from which the token counts as stale. Seconds since the Unix epoch. */
  readonly warnAfter: number | undefined;
}

/** A token stored in a Secret; it never expires. */
export interface LegacyClaims extends CommonClaims {
  readonly kind: 'legacy';
  readonly secretName: string;
}

/** `iss` of tokens stored in Secrets, independent of the configured issuers. */
export const legacyIssuer = ({ name }: Dialect): string => `${name}/serviceaccount`;

/** Claim name of a token stored in a Secret: `orch.io/serviceaccount/namespace`. */
export const legacyClaim = (
  { domain }: Dialect,
  name: 'namespace' | 'service-account.name' | 'service-account.uid' | 'secret.name' | 'scope',
): string => `${domain}/serviceaccount/${name}`;

/** Kind of token by its unverified issuer; undefined if it is neither from one of these issuers nor a legacy token. */
export function kindOfToken(
  { claims }: Jwt,
  issuers: ReadonlySet<string>,
  dialect: Dialect,
): TokenClaims['kind'] | undefined {
  const issuer = claims['iss'];
  if (typeof issuer !== 'string') return undefined;
  const [bound, legacy] = [issuers.has(issuer), issuer === legacyIssuer(dialect)];
  // If the issuer has the name of the legacy issuer, the claims decide.
  if (bound && legacy) return Object.hasOwn(claims, dialect.domain) ? 'bound' : 'legacy';
  if (bound) return 'bound';
  return legacy ? 'legacy' : undefined;
}

/** Parses the claims of a token. Throws an Error that names the first missing or invalid claim. */
export const readClaims = (jwt: Jwt, kind: TokenClaims['kind'], dialect: Dialect): TokenClaims =>
  kind === 'bound' ? readBound(jwt, dialect) : readLegacy(jwt, dialect);

function readBound(jwt: Jwt, { domain }: Dialect): BoundClaims {
  const own = readFields(jwt.claims, domain) ?? missing(domain);
  const times = readTimes(jwt);
  // kube-apiserver accepts such a token without expiry, but no server issues one.
  if (times.expires === undefined) missing('exp');
  const at = (name: string): string => `${domain}.${name}`;
  const account = readReference(own, 'serviceaccount', at) ?? missing(at('serviceaccount'));
  const reference = { ...account, namespace: readName(own, 'namespace', at) };
  checkSubject(jwt.claims, reference);
  const pod = readReference(own, 'pod', at);
  return {
    kind: 'bound',
    account: reference,
    scope: readText(own, 'scope', at) ?? '',
    times,
    audiences: readAudiences(jwt.claims),
    tokenId: readText(jwt.claims, 'jti'),
    pod,
    secret: readReference(own, 'secret', at),
    node: pod ? readHint(own, 'node', at) : readReference(own, 'node', at),
    warnAfter: readSeconds(own, 'warnafter') || undefined,
  };
}

function readLegacy(jwt: Jwt, dialect: Dialect): LegacyClaims {
  const name = (claim: Parameters<typeof legacyClaim>[1]): string => readName(jwt.claims, legacyClaim(dialect, claim));
  const account = {
    namespace: name('namespace'),
    name: name('service-account.name'),
    uid: name('service-account.uid'),
  };
  checkSubject(jwt.claims, account);
  return {
    kind: 'legacy',
    account,
    scope: readText(jwt.claims, legacyClaim(dialect, 'scope')) ?? '',
    times: readTimes(jwt),
    audiences: readAudiences(jwt.claims),
    secretName: name('secret.name'),
  };
}

/** `sub` and the private claims must name the same account, so that relying parties may read either. */
function checkSubject(claims: JwtFields, account: AccountReference): void {
  if (claims['sub'] !== accountUsername(account))
    throw new Error('claim sub does not match the account in the other claims');
}

/** `aud`: a string or a list (RFC 7519 section 4.1.3). Absent and an empty list are the same. */
function readAudiences(claims: JwtFields): readonly string[] | undefined {
  if (!Object.hasOwn(claims, 'aud')) return undefined;
  const value = claims['aud'];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) {
    throw new Error('claim aud is neither a string nor a list of strings');
  }
  return value.length === 0 ? undefined : value;
}

type Place = (name: string) => string;
const top: Place = (name) => name;

function readReference(fields: JwtFields, name: string, at: Place): ObjectReference | undefined {
  const found = readFields(fields, name, at);
  const inside: Place = (field) => at(`${name}.${field}`);
  return found && { name: readName(found, 'name', inside), uid: readName(found, 'uid', inside) };
}

function readHint(fields: JwtFields, name: string, at: Place): BoundClaims['node'] {
  const found = readFields(fields, name, at);
  if (!found) return undefined;
  const inside: Place = (field) => at(`${name}.${field}`);
  const uid = readText(found, 'uid', inside);
  return { name: readName(found, 'name', inside), ...(uid !== undefined && { uid }) };
}

function readFields(fields: JwtFields, name: string, at: Place = top): JwtFields | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JwtFields;
  throw new Error(`claim ${at(name)} is not an object`);
}

/** An optional string; an empty one counts as absent. */
function readText(fields: JwtFields, name: string, at: Place = top): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (typeof value !== 'string') throw new Error(`claim ${at(name)} is not a string`);
  return value === '' ? undefined : value;
}

/** Names of objects become parts of store keys, so a name must not contain a slash. */
function readName(fields: JwtFields, name: string, at: Place = top): string {
  const value = readText(fields, name, at) ?? missing(at(name));
  if (!/^[a-zA-Z0-9][-a-zA-Z0-9._:]*$/.test(value)) throw new Error(`claim ${at(name)} is not a name`);
  return value;
}

function missing(claim: string): never {
  throw new Error(`claim ${claim} is missing`);
}
