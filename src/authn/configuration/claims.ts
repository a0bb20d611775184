import type { JwtFields } from '../jwt.ts';

/** The claims of a token do not make a user that the configuration accepts. No value of a claim is in the message. */
export class ClaimError extends Error {
  constructor(reason: string) {
    super(`openid connect: ${reason}`);
    this.name = 'ClaimError';
  }
}

/** Claims are named by those who configure; JavaScript's own properties are none. Absent and null are different. */
export const hasClaim = (claims: JwtFields, name: string): boolean => claimOf(claims, name) !== undefined;

export const claimOf = (claims: JwtFields, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

/** A claim that must be there and be a text; null is an empty one, as published. */
export function textClaim(claims: JwtFields, name: string): string {
  const value = claimOf(claims, name);
  if (value === undefined) throw new ClaimError(`claim ${JSON.stringify(name)} is not present`);
  if (value === null) return '';
  if (typeof value !== 'string') throw new ClaimError(`claim ${JSON.stringify(name)} is not a string`);
  return value;
}

/** A claim that is a text or a list of texts; absent and null are none. */
export function textsClaim(claims: JwtFields, name: string): readonly string[] {
  const value = claimOf(claims, name) ?? [];
  if (typeof value === 'string') return [value];
  if (isTexts(value)) return value;
  throw new ClaimError(`claim ${JSON.stringify(name)} is neither a string nor a list of strings`);
}

/** What an expression gave, as texts: null is none, and empty ones are left out. */
export function textsOf(value: unknown): readonly string[] {
  const texts = typeof value === 'string' ? [value] : (value ?? []);
  if (!isTexts(texts)) throw new ClaimError('the expression must return a string or a list of strings');
  return texts.filter((text) => text !== '');
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
