import type { UserInfo } from '../request/user-info.ts';

/** What a user may do with resources, as a SelfSubjectRulesReview shows it (spec section 5.7). */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** None means all objects. */
  readonly resourceNames: readonly string[];
}

/** What a user may do with paths. */
export interface PathRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
  /** The authorizer allows more than it can list. */
  readonly incomplete: boolean;
  /** What could not be looked up; the rules that were found hold all the same. */
  readonly errors: readonly string[];
}

/** An authorizer that can list what it allows. */
export interface RuleResolver {
  /** What `user` may do in `namespace` and outside of namespaces; '' is outside only. */
  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
}

/** Nothing is allowed, and that is all there is to say. */
export const noRules: UserRules = { resourceRules: [], pathRules: [], incomplete: false, errors: [] };

/** For an authorizer that decides about requests and cannot list what it allows. `name` stands in what the user reads. */
export function unlistable(name: string): RuleResolver {
  const rules: UserRules = {
    ...noRules,
    incomplete: true,
    errors: [`${name} authorizer does not support user rule resolution`],
  };
  return { rulesFor: () => rules };
}
