import { NoCredential } from '../../../authn/authenticator.ts';
import { bearerWarning } from '../../../authn/bearer.ts';
import { credentialHeaders, refuseListedIdentity, webSocketProtocolHeader } from '../../../authn/identity-headers.ts';
import { offeredProtocols } from '../../../authn/web-socket.ts';
import { StatusError } from '../../../meta/status-error.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { annotate, type RequestContext, type Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Identifies the sender (spec section 5.1) and hides the credentials: later stages see neither credentials nor proxy
 * headers, trusted or not.
 */
export function authenticate({
  authenticator,
  requestHeaders,
  access,
  clock,
  auditor,
}: Pick<PipelineParts, 'authenticator' | 'requestHeaders' | 'access' | 'clock' | 'auditor'>): Stage {
  const isCredential = credentialHeaders(requestHeaders);
  // Nothing in front of this stage waits, so its start need not be looked at.
  const secondsSince = ({ receivedMs }: RequestContext): number => (clock.monotonic() - receivedMs) / 1000;
  const identify = (context: RequestContext, user: UserInfo): void => {
    access.authenticated('success', secondsSince(context));
    access.user(user.username);
    context.user = user;
    const { exchange } = context;
    if (exchange.webSocket) {
      const { protocols } = offeredProtocols(exchange.headerLines(webSocketProtocolHeader));
      const [protocol] = protocols;
      context.webSocketProtocols = protocols;
      if (protocol !== undefined) context.webSocketProtocol = protocol;
    }
    exchange.hideHeaders(isCredential);
  };
  const refuse = (context: RequestContext, error: unknown): never => {
    const result = error instanceof StatusError && error.cause instanceof NoCredential ? 'failure' : 'error';
    access.authenticated(result, secondsSince(context));
    auditor?.receiveUnauthenticated(context);
    throw error;
  };
  const requireUnlisted = (context: RequestContext): void => {
    try {
      refuseListedIdentity(context.exchange.header('connection'), isCredential);
    } catch (error) {
      auditor?.receiveUnauthenticated(context);
      throw error;
    }
  };
  return {
    name: 'authenticate',
    run(context) {
      const { exchange } = context;
      const authorization = exchange.header('authorization');
      const warning = authorization === undefined ? undefined : bearerWarning(authorization);
      if (warning !== undefined) exchange.warn(warning);
      requireUnlisted(context);
      if (auditor) exchange.annotate = (key, value) => void annotate(context, key, value);
      try {
        const user = authenticator.authenticate(exchange);
        return user instanceof Promise
          ? user.then(
              (late) => identify(context, late),
              (error) => refuse(context, error),
            )
          : identify(context, user);
      } catch (error) {
        return refuse(context, error);
      }
    },
  };
}
