import { limits } from '../base/limits.ts';
import { parseJson } from '../codec/json.ts';

/** Fields of a JOSE header or of a claims set, under names that the sender chose: `Object.hasOwn` before any that isn't fixed. */
export type JwtFields = Readonly<Record<string, unknown>>;

/** A signed token of three parts (RFC 7515 section 3.1), taken apart. Nothing of it is to be trusted yet. */
export interface Jwt {
  readonly header: JwtFields;
  /** Integers past 2^53 are bigints. */
  readonly claims: JwtFields;
  /** What was signed: the first two parts with the dot between them. ASCII. */
  readonly signingInput: string;
  /** Empty where the token has none. */
  readonly signature: Buffer;
}

/**
 * Takes a token apart without looking at its signature: to find out who says to have issued it, and then to verify it.
 *
 * Strict, so that a token has one form and none is read in two ways: base64url without padding, blanks or bits left over,
 * valid UTF-8, JSON objects without a field that stands twice (RFC 8725 section 2.4 and RFC 7515 section 4).
 *
 * @returns undefined where it is not that, or longer than `limits.tokenLengthMax`. Never throws.
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

/** The bytes of canonical base64url (RFC 7515 section 2), or undefined where the text is anything else. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // The decoder skips what it does not know; what comes out as it went in had nothing to skip.
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decodeFields(part: string): JwtFields | undefined {
  const bytes = decodeBase64url(part);
  if (!bytes) return undefined;
  try {
    const { value, duplicates } = parseJson(bytes);
    return duplicates.length === 0 && isFields(value) ? value : undefined;
  } catch {
    // Not JSON: then it is no token of this form, and whoever else knows it may say what it is.
    return undefined;
  }
}

const isFields = (value: unknown): value is JwtFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
