import { anonymousUser, type UserInfo } from '../request/user-info.ts';
import { type Authenticator, type Credentials, unauthorized } from './authenticator.ts';

/** An authenticator at the end of the line: it always knows who is there, or refuses. */
export interface FinalAuthenticator {
  authenticate(credentials: Credentials): UserInfo | Promise<UserInfo>;
}

/**
 * Which requests may come without a credential (spec section 5.1): all, none (`--anonymous-auth=false`), or those for
 * exactly these paths (`anonymous.conditions` of an AuthenticationConfiguration).
 */
export type AnonymousPolicy = 'allow' | 'refuse' | { readonly paths: ReadonlySet<string> };

/** The member `anonymous` of an AuthenticationConfiguration. */
export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** Absent or empty: no condition. */
  readonly conditions?: readonly { readonly path: string }[] | undefined;
}

export function anonymousPolicy({ enabled, conditions = [] }: AnonymousConfiguration): AnonymousPolicy {
  if (!enabled) return 'refuse';
  return conditions.length === 0 ? 'allow' : { paths: new Set(conditions.map(({ path }) => path)) };
}

/**
 * What becomes of requests that show no credential at all. One that does not hold is refused, and never makes the sender
 * anonymous.
 *
 * @param policy a function where it may change while the server runs.
 */
export function withAnonymous(
  authenticator: Authenticator,
  policy: AnonymousPolicy | (() => AnonymousPolicy),
): FinalAuthenticator {
  const current = typeof policy === 'function' ? policy : () => policy;
  const anonymous = ({ target }: Credentials): UserInfo => {
    if (allows(current(), target)) return anonymousUser;
    throw unauthorized(new Error('no credential was shown'));
  };
  return {
    authenticate(credentials) {
      const user = authenticator.authenticate(credentials);
      if (user instanceof Promise) return user.then((late) => late ?? anonymous(credentials));
      return user ?? anonymous(credentials);
    },
  };
}

/**
 * The path must be the one that was configured, to the letter: of several ways to write it, only that one can be meant to
 * be open to everybody.
 */
function allows(policy: AnonymousPolicy, target: string): boolean {
  if (typeof policy === 'string') return policy === 'allow';
  const mark = target.indexOf('?');
  return policy.paths.has(mark < 0 ? target : target.slice(0, mark));
}
