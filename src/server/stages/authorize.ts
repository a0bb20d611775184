import { type Decision, forbidden } from '../../authz/authorizer.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Asks whether the user may do this (spec section 5.7). What is not allowed is refused. */
export function authorize({ authorizer }: PipelineParts): Stage {
  const require = ({ info, user }: RequestContext, { verdict, reason }: Decision): void => {
    if (verdict !== 'allow') throw forbidden(info, user, reason);
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
