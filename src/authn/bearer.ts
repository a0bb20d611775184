import { type Authenticator, type TokenAuthenticator, unauthorized } from './authenticator.ts';
import { firstSuccess } from './first-success.ts';

/**
 * The token of an `Authorization` header (RFC 6750 section 2.1), or undefined where it has another scheme or none. As
 * published servers read it: one space before the token, and what follows the token is not looked at.
 */
export function bearerToken(header: string | undefined): string | undefined {
  const [scheme = '', token = ''] = (header ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** Asks whose the bearer token of a request is. A token that nobody knows is unauthorized. */
export function bearerAuthenticator(tokens: readonly TokenAuthenticator[]): Authenticator {
  return {
    authenticate(credentials) {
      const token = bearerToken(credentials.header('authorization'));
      if (token === undefined) return undefined;
      const failed = (errors: readonly unknown[]): Error => unauthorized(new AggregateError(errors, 'invalid token'));
      const user = firstSuccess(tokens, (each) => each.authenticateToken(token), failed);
      if (user instanceof Promise) {
        return user.then((late) => {
          if (late) return late;
          throw unauthorized(new Error('unknown token'));
        });
      }
      if (user) return user;
      throw unauthorized(new Error('unknown token'));
    },
  };
}
