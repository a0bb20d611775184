import type { DecisionCounts } from './authorization-metrics.ts';
import type { Authorizer, Decision } from './authorizer.ts';

/** Wraps an authorizer to count its decisions. No opinion does not count. */
export function counted(authorizer: Authorizer, counts: DecisionCounts): Authorizer {
  const count = (decision: Decision): Decision => {
    if (decision.verdict === 'allow') counts.allowed += 1;
    else if (decision.verdict === 'deny') counts.denied += 1;
    return decision;
  };
  return {
    authorize(attributes, user, caller) {
      const decision = authorizer.authorize(attributes, user, caller);
      return decision instanceof Promise ? decision.then(count) : count(decision);
    },
  };
}
