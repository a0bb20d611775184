import type { Impersonation } from './connection.ts';
import { encodeHeaderText } from './header-encoding.ts';

/** The headers by which a request asks to count as somebody else's (spec section 5.7). */
export function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Record<string, string | string[]> {
  return {
    'impersonate-user': encodeHeaderText(user),
    ...(uid !== undefined && { 'impersonate-uid': encodeHeaderText(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': groups.map(encodeHeaderText) }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [
        `impersonate-extra-${escapeKey(key)}`,
        values.map(encodeHeaderText),
      ]),
    ),
  };
}

/** The name of a header holds fewer characters than a key (RFC 9110 section 5.6.2): the others are written as `%XX`. */
const escapeKey = (key: string): string =>
  encodeHeaderText(key).replace(/[^!#$&'*+.^_`|~\w-]/g, (byte) => {
    const code = byte.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, '0')}`;
  });
