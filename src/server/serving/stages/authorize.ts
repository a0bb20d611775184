import { type Decision, forbidden } from '../../../authz/authorizer.ts';
import type { AccessCounts } from '../access-counts.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Asks whether the user may do this (spec section 5.7). What is not allowed is refused. */
export function authorize({ authorizer, counts }: Pick<PipelineParts, 'authorizer' | 'counts'>): Stage {
  const { authorization } = counts;
  const require = ({ info, user }: RequestContext, decision: Decision): void => {
    authorization[resultOf(decision)] += 1;
    if (decision.verdict !== 'allow') throw forbidden(info, user, decision.reason);
  };
  return {
    name: 'authorize',
    run(context) {
      const decision = authorizer.authorize(context.info, context.user);
      if (decision instanceof Promise) return decision.then((late) => require(context, late));
      return require(context, decision);
    },
  };
}

function resultOf({ verdict, evaluationError }: Decision): keyof AccessCounts['authorization'] {
  if (verdict === 'allow') return 'allowed';
  if (evaluationError !== undefined) return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
