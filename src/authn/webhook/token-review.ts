import { parseJson } from '../../codec/json.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { getOwn, isRecord, setOwn } from '../../schema/own-property.ts';

/** A webhook's verdict on a token (`status` of a TokenReview, spec section 2.4). */
export type ReviewStatus =
  | {
      readonly authenticated: true;
      readonly user: UserInfo;
      /** The requested audiences for which the token is valid; [] if the webhook does not support audiences. */
      readonly audiences: readonly string[];
    }
  | { readonly authenticated: false; readonly error: string; readonly audiences: readonly string[] };

/** Body of a TokenReview request. */
export const tokenReview = (apiVersion: string, token: string, audiences: readonly string[]): string =>
  JSON.stringify({ kind: 'TokenReview', apiVersion, spec: { token, ...(audiences.length > 0 && { audiences }) } });

/**
 * Parses a TokenReview response of that version. Like kube-apiserver, kind and version may be absent, unknown fields
 * are ignored, and null equals absent. Anything else that is not a valid TokenReview is an error, as is a user without
 * a name. Errors do not contain response content, because it may contain a token.
 */
export function readTokenReview(body: Uint8Array, apiVersion: string): ReviewStatus {
  const review = parse(body);
  for (const [field, expected] of Object.entries({ kind: 'TokenReview', apiVersion })) {
    if (readText(review, field) !== '' && review[field] !== expected) {
      throw new Error(`the answer's ${field} is not ${expected}`);
    }
  }
  const status = readObject(review, 'status');
  const audiences = readTexts(status, 'audiences');
  if (!readBoolean(status, 'authenticated'))
    return { authenticated: false, error: readText(status, 'error'), audiences };
  const user = readUser(readObject(status, 'user'));
  if (user.username === '') throw new Error('the answer has a user without a name');
  return { authenticated: true, user, audiences };
}

type Fields = Readonly<Record<string, unknown>>;

function parse(body: Uint8Array): Fields {
  try {
    const { value, duplicates } = parseJson(body);
    if (isRecord(value) && duplicates.length === 0) return value;
  } catch {
    // The parser's message may contain what it read.
  }
  throw new Error('the answer is no object in JSON, or has a field twice');
}

function readUser(user: Fields): UserInfo {
  const extraFields = readObject(user, 'extra');
  const extra: Record<string, readonly string[]> = {};
  for (const key of Object.keys(extraFields)) setOwn(extra, key, readTexts(extraFields, key));
  return {
    username: readText(user, 'username'),
    uid: readText(user, 'uid'),
    groups: readTexts(user, 'groups'),
    extra,
  };
}

const wrongType = (field: string): Error => new Error(`the answer's field ${JSON.stringify(field)} has the wrong type`);

function readText(fields: Fields, field: string): string {
  const value = getOwn(fields, field) ?? '';
  if (typeof value === 'string') return value;
  throw wrongType(field);
}

function readBoolean(fields: Fields, field: string): boolean {
  const value = getOwn(fields, field) ?? false;
  if (typeof value === 'boolean') return value;
  throw wrongType(field);
}

function readObject(fields: Fields, field: string): Fields {
  const value = getOwn(fields, field) ?? {};
  if (isRecord(value)) return value;
  throw wrongType(field);
}

function readTexts(fields: Fields, field: string): readonly string[] {
  const value = getOwn(fields, field) ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw wrongType(field);
}
