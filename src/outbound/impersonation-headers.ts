import type { Impersonation } from './connection-config.ts';
import { encodeHeaderText } from './header-encoding.ts';

/** The impersonation headers of a request (spec section 5.7). */
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

/** Header names allow fewer characters than extra keys (RFC 9110 section 5.6.2): the others are written as `%XX`. */
const escapeKey = (key: string): string =>
  encodeHeaderText(key).replace(/[^!#$&'*+.^_`|~\w-]/g, (byte) => {
    const code = byte.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, '0')}`;
  });
