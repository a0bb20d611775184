import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { IssuedToken, TokenGrant } from '../../kinds/authentication/token-grant.ts';
import { signWithoutBlocking } from '../../pki/signature-algorithm.ts';
import type { SigningKey } from '../../pki/token-keys.ts';
import { accountUsername } from '../../request/service-account-user.ts';
import { type AccountReference, credentialId, type ObjectReference } from './account-user.ts';
import { legacyClaim, legacyIssuer } from './token-claims.ts';

interface IdentifiedToken extends IssuedToken {
  /** `JTI=<jti>`: for the audit annotation of the request, which links later uses of the token to it. */
  readonly credentialId: string;
}

/**
 * Signs service account tokens. The caller has checked that the account and the bound object exist. Synchronous if the
 * signing key is fast (ECDSA).
 */
export interface TokenIssuer {
  issue(grant: TokenGrant): IdentifiedToken | Promise<IdentifiedToken>;
  /** A token without expiry, to be stored in that Secret of the account's namespace. */
  issueLegacy(account: AccountReference, secretName: string): string | Promise<string>;
}

interface TokenIssuerOptions {
  /** `iss`: the first of `--service-account-issuer`. */
  readonly issuer: string;
  /** Name of the scope of the accounts. */
  readonly scope: string;
  /** Called for every token, so that a new key takes effect immediately. */
  readonly signingKey: () => SigningKey;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
}

export function createTokenIssuer({
  issuer,
  scope,
  signingKey,
  dialect,
  clock,
  random,
}: TokenIssuerOptions): TokenIssuer {
  return {
    issue(grant) {
      const issuedAt = Math.floor(clock.now() / 1000);
      const tokenId = random.uuid();
      const claims = {
        aud: grant.audiences,
        exp: issuedAt + grant.lifetimeSeconds,
        iat: issuedAt,
        iss: issuer,
        jti: tokenId,
        nbf: issuedAt,
        sub: accountUsername(grant.account),
        [dialect.domain]: { ...ownClaims(grant, issuedAt), ...(scope !== '' && { scope }) },
      };
      const issued = (token: string) => ({ token, credentialId: credentialId(tokenId), issuedAt });
      const token = signToken(claims, signingKey());
      return token instanceof Promise ? token.then(issued) : issued(token);
    },
    issueLegacy(account, secretName) {
      const claims = {
        iss: legacyIssuer(dialect),
        sub: accountUsername(account),
        [legacyClaim(dialect, 'namespace')]: account.namespace,
        [legacyClaim(dialect, 'secret.name')]: secretName,
        [legacyClaim(dialect, 'service-account.name')]: account.name,
        [legacyClaim(dialect, 'service-account.uid')]: account.uid,
        ...(scope !== '' && { [legacyClaim(dialect, 'scope')]: scope }),
      };
      return signToken(claims, signingKey());
    },
  };
}

function ownClaims({ account, binding, warnAfterSeconds }: TokenGrant, issuedAt: number): Record<string, unknown> {
  const node = binding?.kind === 'pod' ? binding.node : undefined;
  return {
    namespace: account.namespace,
    ...(node && { node }),
    ...(binding && { [binding.kind]: reference(binding) }),
    serviceaccount: reference(account),
    ...(warnAfterSeconds !== undefined && { warnafter: issuedAt + warnAfterSeconds }),
  };
}

const reference = ({ name, uid }: ObjectReference): ObjectReference => ({ name, uid });

/** A JWS in compact serialization (RFC 7515 section 3.1). The header has only what a verifier needs to find the key. */
function signToken(claims: Readonly<Record<string, unknown>>, key: SigningKey): string | Promise<string> {
  const header = { alg: key.algorithm, kid: key.id };
  const input = `${encode(header)}.${encode(sorted(claims))}`;
  const token = (signature: Buffer): string => `${input}.${signature.toString('base64url')}`;
  const signature = signWithoutBlocking(key.algorithm, key.privateKey, Buffer.from(input, 'latin1'));
  return signature instanceof Promise ? signature.then(token) : token(signature);
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** kube-apiserver writes claims sorted by name. */
const sorted = (claims: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : 1)));
