import type { UserRules } from '../request/access.ts';
import type { UserInfo } from '../request/user-info.ts';

export type { PathRule, ResourceRule, UserRules } from '../request/access.ts';

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
