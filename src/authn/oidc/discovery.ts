import { parseJson } from '../../codec/json.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import type { TokenIssuer } from './jwt-authenticator.ts';

/** Where a provider describes itself (OpenID Connect Discovery section 4). */
export const discoveryAddress = ({ url, discoveryURL }: Pick<TokenIssuer, 'url' | 'discoveryURL'>): URL =>
  new URL(discoveryURL || `${url.replace(/\/$/, '')}/.well-known/openid-configuration`);

/**
 * Where the keys are, as the provider's description has it. Throws where it is no such description, describes another
 * issuer (section 4.3 of the same: to the letter), or keeps the keys at an address without TLS.
 */
export function readKeysAddress(description: Uint8Array, issuer: string): URL {
  const { value, duplicates } = parseJson(description);
  if (!isRecord(value) || duplicates.length > 0) throw new Error('the description of the provider is not an object');
  const described = getOwn(value, 'issuer');
  if (described !== issuer) {
    throw new Error(`the description is of issuer ${shown(described)} where ${JSON.stringify(issuer)} is configured`);
  }
  const keys = getOwn(value, 'jwks_uri');
  const address = typeof keys === 'string' ? URL.parse(keys) : null;
  if (address?.protocol !== 'https:') throw new Error(`jwks_uri is not an https address: ${shown(keys)}`);
  return address;
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, shownLengthMax)) : `of type ${typeof value}`;

/** Characters of what a provider says that are repeated in a message. */
const shownLengthMax = 200;
