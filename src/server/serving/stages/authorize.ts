import { type Decision, forbidden } from '../../../authz/authorizer.ts';
import type { AccessCounts } from '../access-counts.ts';
import type { Tenant } from '../flow-control/tenant.ts';
import { tooManyRequests } from '../flow-control/too-many-requests.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Checks that the user is allowed to do this (spec section 5.7). A tenant with too many pending authorizations, for
 * example at a webhook, is refused with 429 before the authorizer is called.
 */
export function authorize({ authorizer, counts }: Pick<PipelineParts, 'authorizer' | 'counts'>): Stage {
  const { authorization } = counts;
  const require = (context: RequestContext, decision: Decision): void => {
    const { info, user } = context;
    context.audit?.noteDecision(decision);
    authorization[resultOf(decision)] += 1;
    if (decision.verdict !== 'allow') throw forbidden(info, user, decision.reason);
  };
  return {
    name: 'authorize',
    run(context) {
      const { tenant } = context.ticket ?? {};
      if (tenant && !tenant.shared.authorizations.hasRoomFor(tenant.authorizations, 1)) throw tooManyRequests();
      const decision = authorizer.authorize(context.info, context.user, context.exchange);
      if (!(decision instanceof Promise)) return require(context, decision);
      return waitFor(decision, tenant).then((late) => require(context, late));
    },
  };
}

function waitFor<T>(answer: Promise<T>, tenant: Tenant | undefined): Promise<T> {
  if (!tenant?.shared.authorizations.take(tenant.authorizations, 1)) return answer;
  return answer.finally(() => tenant.shared.authorizations.release(tenant.authorizations, 1));
}

function resultOf({ verdict, evaluationError }: Decision): keyof AccessCounts['authorization'] {
  if (verdict === 'allow') return 'allowed';
  if (evaluationError !== undefined) return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
