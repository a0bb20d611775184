import { type Decision, forbidden } from '../../../authz/authorizer.ts';
import type { AuthorizationResult } from '../access-metrics.ts';
import type { Tenant } from '../flow-control/tenant.ts';
import { tooManyRequests } from '../flow-control/too-many-requests.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Checks that the user is allowed to do this (spec section 5.7). A tenant with too many pending authorizations, for
 * example at a webhook, is refused with 429 before the authorizer is called.
 */
export function authorize({
  authorizer,
  clock,
  access,
}: Pick<PipelineParts, 'authorizer' | 'clock' | 'access'>): Stage {
  const require = (context: RequestContext, decision: Decision, sinceMs: number): void => {
    const { info, user } = context;
    context.audit?.noteDecision(decision);
    access.authorized(resultOf(decision), (clock.monotonic() - sinceMs) / 1000);
    if (decision.verdict !== 'allow') throw forbidden(info, user, decision.reason);
  };
  return {
    name: 'authorize',
    run(context) {
      const { tenant } = context.ticket ?? {};
      if (tenant && !tenant.shared.authorizations.hasRoomFor(tenant.authorizations, 1)) throw tooManyRequests();
      const sinceMs = clock.monotonic();
      const decision = authorizer.authorize(context.info, context.user, context.exchange);
      if (!(decision instanceof Promise)) return require(context, decision, sinceMs);
      return waitFor(decision, tenant).then((late) => require(context, late, sinceMs));
    },
  };
}

function waitFor<T>(answer: Promise<T>, tenant: Tenant | undefined): Promise<T> {
  if (!tenant?.shared.authorizations.take(tenant.authorizations, 1)) return answer;
  return answer.finally(() => tenant.shared.authorizations.release(tenant.authorizations, 1));
}

function resultOf({ verdict, evaluationError }: Decision): AuthorizationResult {
  if (verdict === 'allow') return 'allowed';
  if (evaluationError !== undefined) return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
