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

/** Allows every request (mode `AlwaysAllow`, spec section 5.7). */
export const alwaysAllow: Authorizer & RuleResolver = { authorize: () => allowed, rulesFor: () => everything };

/**
 * Allows no request (mode `AlwaysDeny`, spec section 5.7). Like kube-apiserver's it returns no opinion instead of a denial, so
 * a later authorizer may still allow the request.
 */
export const alwaysDeny: Authorizer & RuleResolver = { authorize: () => denied, rulesFor: () => noRules };
