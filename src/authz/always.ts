import type { Authorizer, Decision } from './authorizer.ts';
import { noRules, type RuleResolver, type UserRules } from './rule-resolver.ts';

const allowed: Decision = { verdict: 'allow', reason: '' };
const denied: Decision = { verdict: 'noOpinion', reason: 'Everything is forbidden.' };

const everything: UserRules = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
  pathRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
  errors: [],
};

/** Lets everybody do everything, whoever they are (mode `AlwaysAllow`, spec section 5.7). */
export const alwaysAllow: Authorizer & RuleResolver = { authorize: () => allowed, rulesFor: () => everything };

/**
 * Allows nothing (mode `AlwaysDeny`, spec section 5.7). As published it has no opinion rather than to deny: a request is
 * refused when nobody behind it allows it either.
 */
export const alwaysDeny: Authorizer & RuleResolver = { authorize: () => denied, rulesFor: () => noRules };
