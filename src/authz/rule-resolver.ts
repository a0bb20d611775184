import type { UserRules } from '../request/access.ts';
import type { UserInfo } from '../request/user-info.ts';

export type { PathRule, ResourceRule, UserRules } from '../request/access.ts';

/** An authorizer that can list the rules that apply to a user. */
export interface RuleResolver {
  /** The rules for `user` in `namespace`, and for non-resource paths; without a namespace only the latter. */
  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
}

/** No rules, and the list is complete. */
export const noRules: UserRules = { resourceRules: [], pathRules: [], incomplete: false, errors: [] };

/** For an authorizer that cannot list its rules. `name` appears in the error shown to the user. */
export function unlistable(name: string): RuleResolver {
  const rules: UserRules = {
    ...noRules,
    incomplete: true,
    errors: [`${name} authorizer does not support user rule resolution`],
  };
  return { rulesFor: () => rules };
}
