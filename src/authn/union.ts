import { type Authenticator, asAuthenticated, unauthorized } from './authenticator.ts';
import { firstSuccess } from './first-success.ts';

/**
 * Combines several authenticators (spec section 5.1): the first that succeeds wins, an error does not stop the rest,
 * and the request is unauthorized if credentials were presented but none is valid.
 */
export function unionAuthenticator(authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate(credentials) {
      const user = firstSuccess(
        authenticators,
        (each) => each.authenticate(credentials),
        (errors) =>
          unauthorized(errors.length === 1 ? errors[0] : new AggregateError(errors, 'no credential is valid')),
        credentials,
      );
      if (user instanceof Promise) return user.then((late) => late && asAuthenticated(late));
      return user && asAuthenticated(user);
    },
  };
}
