import { type Authenticator, asAuthenticated, unauthorized } from './authenticator.ts';
import { firstSuccess } from './first-success.ts';

/**
 * Several authenticators as one (spec section 5.1): the first that succeeds decides, one that fails does not stop the
 * others, and when a credential was shown but none held the request is unauthorized.
 */
export function unionAuthenticator(authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate(credentials) {
      const user = firstSuccess(
        authenticators,
        (each) => each.authenticate(credentials),
        (errors) => unauthorized(errors.length === 1 ? errors[0] : new AggregateError(errors, 'no credential holds')),
        credentials,
      );
      if (user instanceof Promise) return user.then((late) => late && asAuthenticated(late));
      return user && asAuthenticated(user);
    },
  };
}
