import type { Impersonation } from './connection.ts';
import { headerText } from './header-text.ts';

/** The headers by which a request asks to count as somebody else's (spec section 5.7). */
export function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Record<string, string | string[]> {
  return {
    'impersonate-user': headerText(user),
    ...(uid !== undefined && { 'impersonate-uid': headerText(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': groups.map(headerText) }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`impersonate-extra-${escapeKey(key)}`, values.map(headerText)]),
    ),
  };
}

/** The name of a header holds fewer characters than a key (RFC 9110 section 5.6.2): the others are written as `%XX`. */
const escapeKey = (key: string): string =>
  headerText(key).replace(/[^!#$&'*+.^_`|~\w-]/g, (byte) => {
    const code = byte.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, '0')}`;
  });
