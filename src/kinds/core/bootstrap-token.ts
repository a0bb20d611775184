import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { parseTime } from '../../meta/time.ts';

/** The Secrets that hold bootstrap tokens (spec section 5.4). Their data is not validated when they are written. */

/** Keys of the Secret's data. A usage is enabled by the value `true` and no other. */
export const bootstrapTokenKeys = {
  id: 'token-id',
  secret: 'token-secret',
  expiration: 'expiration',
  authentication: 'usage-bootstrap-authentication',
  signing: 'usage-bootstrap-signing',
  groups: 'auth-extra-groups',
} as const;

const namePrefix = 'bootstrap-token-';
const namePattern = /^bootstrap-token-([a-z0-9]{6})$/;

export const bootstrapTokenType = ({ domain }: Dialect): string => `bootstrap.${domain}/token`;

/** Name of the Secret of a token. */
export const bootstrapTokenName = (id: string): string => `${namePrefix}${id}`;

/** The token id in the name of a Secret; undefined if the name has another form. */
export const bootstrapTokenIdOf = (name: string): string | undefined => namePattern.exec(name)?.[1];

/** Decoded text of a key; '' if absent. */
export type BootstrapTokenData = (key: string) => string;

export function bootstrapTokenData(secret: ApiObject | undefined): BootstrapTokenData {
  const data = secret?.['data'];
  return (key) => {
    const value = typeof data === 'object' && data !== null && Object.hasOwn(data, key) ? data[key as never] : '';
    return Buffer.from(String(value), 'base64').toString();
  };
}

/**
 * When the token expires, in milliseconds since the epoch: never (Infinity) without a time, always (-Infinity) with one
 * that cannot be parsed. A token has expired from that millisecond on.
 */
export function bootstrapTokenExpiry(data: BootstrapTokenData): number {
  const expiration = data(bootstrapTokenKeys.expiration);
  return expiration === '' ? Number.POSITIVE_INFINITY : (parseTime(expiration) ?? Number.NEGATIVE_INFINITY);
}
