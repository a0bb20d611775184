import { anonymousUser, type UserInfo } from '../request/user-info.ts';
import { type Authenticator, type Credentials, NoCredential, unauthorized } from './authenticator.ts';

/** Last authenticator in the chain: returns a user or throws. */
export interface FinalAuthenticator {
  authenticate(credentials: Credentials): UserInfo | Promise<UserInfo>;
}

/**
 * Which requests are allowed without credentials (spec section 5.1): all, none (`--anonymous-auth=false`), or those for
 * exactly these paths (`anonymous.conditions` of an AuthenticationConfiguration).
 */
export type AnonymousPolicy = 'allow' | 'refuse' | { readonly paths: ReadonlySet<string> };

/** The `anonymous` field of an AuthenticationConfiguration. */
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
 * Authenticates requests without credentials as anonymous, if the policy allows it. Invalid credentials are rejected
 * and never fall back to anonymous.
 *
 * @param policy a function if the policy may change while the server runs.
 */
export function withAnonymous(
  authenticator: Authenticator,
  policy: AnonymousPolicy | (() => AnonymousPolicy),
): FinalAuthenticator {
  const current = typeof policy === 'function' ? policy : () => policy;
  const anonymous = ({ target }: Credentials): UserInfo => {
    if (allows(current(), target)) return anonymousUser;
    throw unauthorized(new NoCredential());
  };
  return {
    authenticate(credentials) {
      const user = authenticator.authenticate(credentials);
      if (user instanceof Promise) return user.then((late) => late ?? anonymous(credentials));
      return user ?? anonymous(credentials);
    },
  };
}

/** Compares the path literally: other spellings of a configured path are not exempted. */
function allows(policy: AnonymousPolicy, target: string): boolean {
  if (typeof policy === 'string') return policy === 'allow';
  const mark = target.indexOf('?');
  return policy.paths.has(mark < 0 ? target : target.slice(0, mark));
}
