import { impersonationPrefix, isImpersonationHeader } from '../../../authn/identity-headers.ts';
import { impersonatedUser, impersonationAttributes, readImpersonation } from '../../../authn/impersonation.ts';
import { requirePermission } from '../../../authz/authorizer.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Serves the request as somebody else where the sender asks for it and may do so (spec section 5.1): each part of the
 * identity is asked about, and the first that is not allowed is the answer. Everything behind sees the impersonated user
 * only; the sender is kept for the log and the audit.
 */
export function impersonate({ authorizer, dialect }: Pick<PipelineParts, 'authorizer' | 'dialect'>): Stage {
  const become = async (context: RequestContext): Promise<void> => {
    const { exchange } = context;
    const impersonation = readImpersonation(exchange);
    exchange.hideHeaders(isImpersonationHeader);
    if (!impersonation) return;
    for (const attributes of impersonationAttributes(impersonation, dialect)) {
      await requirePermission(authorizer, attributes, context.user, exchange);
      exchange.signal.throwIfAborted();
    }
    context.impersonatedBy = context.user;
    context.user = impersonatedUser(impersonation);
  };
  return {
    name: 'impersonate',
    run: (context) => (context.exchange.hasHeaderBeginning(impersonationPrefix) ? become(context) : undefined),
  };
}
