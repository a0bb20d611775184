import { impersonationPrefix, isImpersonationHeader } from '../../../authn/identity-headers.ts';
import { impersonatedUser, impersonationAttributes, readImpersonation } from '../../../authn/impersonation.ts';
import { requirePermission } from '../../../authz/authorizer.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Impersonates another user if the request asks for it and the sender may (spec section 5.1). Each part of the identity
 * is authorized separately; the first refusal ends the request. Later stages see only the impersonated user; the sender
 * is kept for logs and audit.
 */
export function impersonate({
  authorizer,
  dialect,
  clock,
  access,
  upToDate,
}: Pick<PipelineParts, 'authorizer' | 'dialect' | 'clock' | 'access' | 'upToDate'>): Stage {
  const become = async (context: RequestContext): Promise<void> => {
    const { exchange } = context;
    const sinceMs = clock.monotonic();
    const impersonation = readImpersonation(exchange);
    exchange.hideHeaders(isImpersonationHeader);
    if (!impersonation) return;
    await upToDate(context);
    for (const attributes of impersonationAttributes(impersonation, dialect)) {
      await requirePermission(authorizer, attributes, context.user, exchange);
      exchange.signal.throwIfAborted();
    }
    access.stages.impersonation.observe((clock.monotonic() - sinceMs) / 1000);
    context.impersonatedBy = context.user;
    context.user = impersonatedUser(impersonation);
  };
  return {
    name: 'impersonate',
    run: (context) => (context.exchange.hasHeaderPrefix(impersonationPrefix) ? become(context) : undefined),
  };
}
