import { parseJson } from '../../codec/json.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import type { IssuerSettings } from './jwt-authenticator.ts';

/** URL of the provider's metadata (OpenID Connect Discovery section 4). */
export const discoveryAddress = ({ url, discoveryURL }: Pick<IssuerSettings, 'url' | 'discoveryURL'>): URL =>
  new URL(discoveryURL || `${url.replace(/\/$/, '')}/.well-known/openid-configuration`);

/**
 * The `jwks_uri` in a provider's metadata. Throws if the metadata is malformed, is of another issuer (Discovery section
 * 4.3: exact match), or `jwks_uri` is not https.
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

/** Maximum number of characters of provider data repeated in an error message. */
const shownLengthMax = 200;
