import { always, type Infer, string, struct } from '../../schema/schema.ts';

/** A condition in CEL on whether a webhook is called, or a policy evaluated; in each version a definition of its own. */
export const matchConditionOf = (version: string) =>
  struct(`api.admissionregistration.${version}.MatchCondition`, 'A condition that a request must meet.', {
    name: always(1, string(), 'Name of the condition: a qualified name, with a domain or without.'),
    expression: always(2, string(), 'CEL expression of type bool. It may use `object`, `oldObject`, `request` and `authorizer`.'),
  });

/** That of webhooks, and of policies in the same version. */
export const matchCondition = matchConditionOf('v1');

export type MatchCondition = Infer<typeof matchCondition>;
