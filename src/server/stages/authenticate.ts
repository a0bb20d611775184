import { credentialHeaders, refuseListedIdentity } from '../../authn/identity-headers.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Finds out who sends the request (spec section 5.1), and takes off what said so: nothing behind sees a credential, nor
 * the headers of a proxy, whoever sent them.
 */
export function authenticate({
  authenticator,
  requestHeaders,
}: Pick<PipelineParts, 'authenticator' | 'requestHeaders'>): Stage {
  const isCredential = credentialHeaders(requestHeaders);
  const identify = (context: RequestContext, user: UserInfo): void => {
    context.user = user;
    context.exchange.hideHeaders(isCredential);
  };
  return {
    name: 'authenticate',
    run(context) {
      const { exchange } = context;
      refuseListedIdentity(exchange.header('connection'), isCredential);
      const user = authenticator.authenticate(exchange);
      if (user instanceof Promise) return user.then((late) => identify(context, late));
      return identify(context, user);
    },
  };
}
