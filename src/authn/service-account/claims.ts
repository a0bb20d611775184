import type { Dialect } from '../../dialect/dialect.ts';
import type { Jwt, JwtFields } from '../jwt.ts';
import { type JwtTimes, readSeconds, readTimes } from '../jwt-times.ts';
import { type AccountReference, accountUsername, type ObjectReference } from './account-user.ts';

/** What the token of a service account says, read and found complete; whether it is true is another matter. */
export type TokenClaims = BoundClaims | LegacyClaims;

interface CommonClaims {
  readonly account: AccountReference;
  /** Name of the scope whose account it is; '' is not written. */
  readonly scope: string;
  readonly times: JwtTimes;
  /** Absent where the token names none: then it is for the API server. */
  readonly audiences: readonly string[] | undefined;
}

/** A token of a TokenRequest: it ends by itself, and with the objects that it is bound to. */
export interface BoundClaims extends CommonClaims {
  readonly kind: 'bound';
  readonly tokenId: string | undefined;
  readonly pod: ObjectReference | undefined;
  readonly secret: ObjectReference | undefined;
  /** Beside a pod only a hint, whose uid may be missing: the token does not end with the node. */
  readonly node: { readonly name: string; readonly uid?: string } | undefined;
  /** When the bearer should have had a new one. Seconds since the Unix epoch. */
  readonly warnAfter: number | undefined;
}

/** A token that is kept in a Secret and never ends by itself. */
export interface LegacyClaims extends CommonClaims {
  readonly kind: 'legacy';
  readonly secretName: string;
}

/** `iss` of tokens that are kept in Secrets, whatever issuers a server is given. */
export const legacyIssuer = ({ name }: Dialect): string => `${name}/serviceaccount`;

/** The claim of a token that is kept in a Secret: `orch.io/serviceaccount/namespace`. */
export const legacyClaim = (
  { domain }: Dialect,
  name: 'namespace' | 'service-account.name' | 'service-account.uid' | 'secret.name' | 'scope',
): string => `${domain}/serviceaccount/${name}`;

/**
 * Of which kind a token claims to be: undefined where it is from none of these issuers, nor kept in a Secret. Nothing of it
 * is verified for that.
 */
export function kindOfToken(
  { claims }: Jwt,
  issuers: ReadonlySet<string>,
  dialect: Dialect,
): TokenClaims['kind'] | undefined {
  const issuer = claims['iss'];
  if (typeof issuer !== 'string') return undefined;
  const [bound, legacy] = [issuers.has(issuer), issuer === legacyIssuer(dialect)];
  // Old clusters gave both the same name.
  if (bound && legacy) return Object.hasOwn(claims, dialect.domain) ? 'bound' : 'legacy';
  if (bound) return 'bound';
  return legacy ? 'legacy' : undefined;
}

/** Reads the claims of a token. Throws an Error that names the first one that is missing or not what it should be. */
export const readClaims = (jwt: Jwt, kind: TokenClaims['kind'], dialect: Dialect): TokenClaims =>
  kind === 'bound' ? readBound(jwt, dialect) : readLegacy(jwt, dialect);

function readBound(jwt: Jwt, { domain }: Dialect): BoundClaims {
  const own = readFields(jwt.claims, domain) ?? missing(domain);
  const times = readTimes(jwt);
  // Published servers let a token without it live for ever; no server makes one.
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

/** Two claims that name the account must name the same: whoever reads only one of them is not misled. */
function checkSubject(claims: JwtFields, account: AccountReference): void {
  if (claims['sub'] !== accountUsername(account)) throw new Error('claim sub is not the account of the other claims');
}

/** `aud`: one, or a list (RFC 7519 section 4.1.3). None and an empty list are the same. */
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

/** A text that need not be there; an empty one is not. */
function readText(fields: JwtFields, name: string, at: Place = top): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (typeof value !== 'string') throw new Error(`claim ${at(name)} is not a string`);
  return value === '' ? undefined : value;
}

/** Names of objects become parts of keys in the store: one with a slash in it would be a place elsewhere. */
function readName(fields: JwtFields, name: string, at: Place = top): string {
  const value = readText(fields, name, at) ?? missing(at(name));
  if (!/^[a-zA-Z0-9][-a-zA-Z0-9._:]*$/.test(value)) throw new Error(`claim ${at(name)} is not a name`);
  return value;
}

function missing(claim: string): never {
  throw new Error(`claim ${claim} is missing`);
}
