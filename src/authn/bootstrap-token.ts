import { hash, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../base/caller.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import {
  type BootstrapTokenData,
  bootstrapTokenData,
  bootstrapTokenExpiry,
  bootstrapTokenName,
  bootstrapTokenType,
  bootstrapTokenKeys as keys,
} from '../kinds/core/bootstrap-token.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { asAuthenticated, type TokenAuthenticator, type TokenIdentity } from './authenticator.ts';

/** The two parts of a token (spec section 5.4): a public id and a secret. */
const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const bootstrappersGroup = 'system:bootstrappers';

interface BootstrapTokenOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /**
   * Looks up a Secret of the system namespace by name, as of when the caller came or later; undefined if there is none. It must
   * take equally long whether there is one or not.
   */
  readonly secret: (name: string, caller: Caller | undefined) => ApiObject | undefined | Promise<ApiObject | undefined>;
}

/**
 * Authenticates the bootstrap tokens with which new nodes join (spec section 5.4, `--enable-bootstrap-token-auth`). The
 * token's Secret must have the right type, must not be terminating or expired, must be enabled for authentication, and
 * must have no invalid data.
 *
 * A client without the secret learns nothing: neither the error nor the work depends on whether the token id exists or
 * on what is wrong with its Secret. A client with the secret gets the reason.
 */
export function bootstrapTokenAuthenticator({ dialect, clock, secret }: BootstrapTokenOptions): TokenAuthenticator {
  const type = bootstrapTokenType(dialect);
  const identify = (id: string, given: string, found: ApiObject | undefined): TokenIdentity => {
    const data = bootstrapTokenData(found);
    if (!sameText(data(keys.secret), given)) throw new Error(`there is no bootstrap token ${id} with that secret`);
    const problem = findProblem({ id, type, found, data, now: clock.now() });
    if (problem !== undefined) throw new Error(`bootstrap token ${id}: ${problem}`);
    const groups = new Set([bootstrappersGroup, ...extraGroups(data)]);
    return {
      user: asAuthenticated({ username: `system:bootstrap:${id}`, uid: '', groups: [...groups].sort(), extra: {} }),
    };
  };
  return {
    authenticateToken(token, _audiences, caller) {
      const [, id, given] = tokenPattern.exec(token) ?? [];
      if (id === undefined || given === undefined) return undefined;
      const found = secret(bootstrapTokenName(id), caller);
      if (found instanceof Promise) return found.then((late) => identify(id, given, late));
      return identify(id, given, found);
    },
  };
}

/** Constant-time comparison of hashes, which reveals neither the texts nor their lengths. */
const sameText = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));

/** Why a token with the right secret is still not accepted, or undefined. */
function findProblem(token: {
  readonly id: string;
  readonly type: string;
  readonly found: ApiObject | undefined;
  readonly data: BootstrapTokenData;
  readonly now: number;
}): string | undefined {
  const { id, type, found, data, now } = token;
  if (found?.['type'] !== type) return `its Secret is not of type ${type}`;
  if (found.metadata.deletionTimestamp !== undefined) return 'its Secret is being deleted';
  if (data(keys.id) !== id) return `${keys.id} of its Secret does not match`;
  if (bootstrapTokenExpiry(data) <= now) return 'it has expired';
  if (data(keys.authentication) !== 'true') return `it is not for authentication: ${keys.authentication} is not true`;
  const odd = extraGroups(data).find((group) => !groupPattern.test(group));
  return odd === undefined ? undefined : `${keys.groups} has ${JSON.stringify(odd)}, which is not an allowed group`;
}

const extraGroups = (data: BootstrapTokenData): readonly string[] => {
  const groups = data(keys.groups);
  return groups === '' ? [] : groups.split(',');
};
