import { StatusError } from '../../meta/status-error.ts';
import type { Stage } from '../request-context.ts';

/** Headers by which a client asks to be served as somebody else. */
const headers = ['impersonate-user', 'impersonate-group', 'impersonate-uid'];

/**
 * Nobody can be impersonated yet. The headers are refused rather than ignored: a client that asks to act as somebody
 * with fewer rights, or a proxy that speaks for its users, must not act with its own instead.
 */
export const impersonate = (): Stage => ({
  name: 'impersonate',
  run({ exchange }) {
    const asked = headers.find((name) => exchange.header(name) !== undefined);
    if (asked !== undefined) throw new StatusError('Forbidden', `impersonation is not served: header ${asked}`);
  },
});
