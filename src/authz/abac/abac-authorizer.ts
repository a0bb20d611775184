import type { Authorizer, Decision } from '../authorizer.ts';
import type { RuleResolver, UserRules } from '../rule-resolver.ts';
import { everything, matchesSubject, type Policy, policyAllows } from './policy.ts';

const allowed: Decision = { verdict: 'allow', reason: '' };
const noMatch: Decision = { verdict: 'noOpinion', reason: 'No policy matched.' };

/** Authorizes by a list of policies (mode `ABAC`, spec section 5.7): a request is allowed if any policy allows it. */
export function abacAuthorizer(policies: readonly Policy[]): Authorizer & RuleResolver {
  return {
    authorize: (attributes, user) =>
      policies.some((policy) => policyAllows(policy, attributes, user)) ? allowed : noMatch,
    rulesFor(user, namespace) {
      const own = policies.filter((policy) => matchesSubject(policy, user));
      return { ...rulesOf(own, namespace), incomplete: false, errors: [] };
    },
  };
}

function rulesOf(policies: readonly Policy[], namespace: string): Pick<UserRules, 'resourceRules' | 'pathRules'> {
  return {
    resourceRules: policies
      .filter((policy) => policy.resource !== '' && [everything, '', namespace].includes(policy.namespace))
      .map((policy) => ({
        verbs: verbsOf(policy),
        apiGroups: [policy.apiGroup],
        resources: [policy.resource],
        resourceNames: [],
      })),
    pathRules: policies
      .filter(({ nonResourcePath }) => nonResourcePath !== '')
      .map((policy) => ({ verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] })),
  };
}

const readVerbs = ['get', 'list', 'watch'] as const;
const allVerbs = [everything] as const;

const verbsOf = ({ readonly }: Policy): readonly string[] => (readonly ? readVerbs : allVerbs);
