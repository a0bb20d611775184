import type { JwtFields } from '../jwt.ts';

/** The claims do not map to a user that the configuration accepts. The message contains no claim values. */
export class ClaimError extends Error {
  constructor(reason: string) {
    super(`openid connect: ${reason}`);
    this.name = 'ClaimError';
  }
}

/**
 * Whether a claim is present; null counts as present. Claim names come from the configuration, so JavaScript's
 * inherited properties must not match.
 */
export const hasClaim = (claims: JwtFields, name: string): boolean => claimOf(claims, name) !== undefined;

export const claimOf = (claims: JwtFields, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

/** A required string claim; null is an empty string, as in kube-apiserver. Throws a ClaimError. */
export function textClaim(claims: JwtFields, name: string): string {
  const value = claimOf(claims, name);
  if (value === undefined) throw new ClaimError(`claim ${JSON.stringify(name)} is not present`);
  if (value === null) return '';
  if (typeof value !== 'string') throw new ClaimError(`claim ${JSON.stringify(name)} is not a string`);
  return value;
}

/** A claim that is a string or a list of strings; [] if absent or null. Throws a ClaimError. */
export function textsClaim(claims: JwtFields, name: string): readonly string[] {
  const value = claimOf(claims, name) ?? [];
  if (typeof value === 'string') return [value];
  if (isTexts(value)) return value;
  throw new ClaimError(`claim ${JSON.stringify(name)} is neither a string nor a list of strings`);
}

/** Result of an expression as strings: null is [], empty strings are dropped. Throws a ClaimError. */
export function textsOf(value: unknown): readonly string[] {
  const texts = typeof value === 'string' ? [value] : (value ?? []);
  if (!isTexts(texts)) throw new ClaimError('the expression must return a string or a list of strings');
  return texts.filter((text) => text !== '');
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
