import { anonymousUser, type UserInfo } from '../request/user-info.ts';
import { type Authenticator, type Credentials, unauthorized } from './authenticator.ts';

/** An authenticator at the end of the line: it always knows who is there, or refuses. */
export interface FinalAuthenticator {
  authenticate(credentials: Credentials): UserInfo | Promise<UserInfo>;
}

export type AnonymousPolicy = 'allow' | 'refuse';

/** What becomes of requests that show no credential at all (spec section 5.1, `--anonymous-auth`). */
export function withAnonymous(authenticator: Authenticator, policy: AnonymousPolicy): FinalAuthenticator {
  const orAnonymous = (user: UserInfo | undefined): UserInfo => {
    if (user) return user;
    if (policy === 'refuse') throw unauthorized(new Error('no credential was shown'));
    return anonymousUser;
  };
  return {
    authenticate(credentials) {
      const user = authenticator.authenticate(credentials);
      return user instanceof Promise ? user.then(orAnonymous) : orAnonymous(user);
    },
  };
}
