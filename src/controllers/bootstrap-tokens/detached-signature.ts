import { createHmac } from 'node:crypto';

/** A key of `cluster-info`: the id is public, the secret signs. */
export interface SigningKey {
  readonly id: string;
  readonly secret: string;
}

/** The payload of a JWS: base64url without padding (RFC 7515 section 2). */
export const encodePayload = (content: string): string => Buffer.from(content, 'utf8').toString('base64url');

/**
 * A JWS with HS256 whose payload is detached: `header..signature` (RFC 7515 appendix F, RFC 7518 section 3.2). The
 * signature is a function of key and payload, so that equal ones can be compared as text.
 */
export function signDetached({ id, secret }: SigningKey, payload: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
  const signature = createHmac('sha256', secret).update(header).update('.').update(payload).digest('base64url');
  return `${header}..${signature}`;
}
