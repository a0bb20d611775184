import { limits } from '../base/limits.ts';
import { parseJson } from '../codec/json.ts';

/**
 * Fields of a JOSE header or claims set. The sender chooses the names, so check variable names with `Object.hasOwn`.
 */
export type JwtFields = Readonly<Record<string, unknown>>;

/** A signed three-part token (RFC 7515 section 3.1), decoded but not verified. */
export interface Jwt {
  readonly header: JwtFields;
  /** Integers beyond 2^53 are bigints. */
  readonly claims: JwtFields;
  /** The signed bytes: the first two parts with the dot between them. ASCII. */
  readonly signingInput: string;
  /** Empty if the token has none. */
  readonly signature: Buffer;
}

/**
 * Decodes a token without verifying its signature, to find its issuer and verify it then.
 *
 * Strict, so that a token has exactly one encoding and one reading: base64url without padding, blanks or leftover bits,
 * valid UTF-8, and JSON objects without duplicate fields (RFC 8725 section 2.4 and RFC 7515 section 4).
 *
 * @returns undefined if the token is malformed or longer than `limits.tokenLengthMax`. Never throws.
 */
export function unverifiedJwt(token: string): Jwt | undefined {
  if (token.length > limits.tokenLengthMax) return undefined;
  const [headerPart, claimsPart, signaturePart, ...more] = token.split('.', 4);
  if (headerPart === undefined || claimsPart === undefined || signaturePart === undefined || more.length > 0) {
    return undefined;
  }
  const signature = decodeBase64url(signaturePart);
  const header = decodeFields(headerPart);
  const claims = header && decodeFields(claimsPart);
  if (!signature || !claims) return undefined;
  return { header, claims, signingInput: token.slice(0, headerPart.length + 1 + claimsPart.length), signature };
}

/** Decodes canonical base64url (RFC 7515 section 2); undefined if the text is anything else. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips invalid characters, so only text that encodes back to itself is canonical.
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decodeFields(part: string): JwtFields | undefined {
  const bytes = decodeBase64url(part);
  if (!bytes) return undefined;
  try {
    const { value, duplicates } = parseJson(bytes);
    return duplicates.length === 0 && isFields(value) ? value : undefined;
  } catch {
    // Not JSON, so not a JWT. Another authenticator may accept the token.
    return undefined;
  }
}

const isFields = (value: unknown): value is JwtFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
