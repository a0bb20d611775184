import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Finds out who sends the request (spec section 5.1). */
export const authenticate = ({ authenticator }: PipelineParts): Stage => ({
  name: 'authenticate',
  run(context) {
    const user = authenticator.authenticate(context.exchange);
    if (!(user instanceof Promise)) {
      context.user = user;
      return undefined;
    }
    return user.then((late) => {
      context.user = late;
    });
  },
});
