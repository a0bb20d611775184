import type { Dialect } from '../../dialect/dialect.ts';
import { accountGroups, accountUsername } from '../../request/service-account-user.ts';
import { groupAuthenticated, type UserInfo } from '../../request/user-info.ts';

/** Reference to a service account. */
export interface AccountReference {
  readonly namespace: string;
  readonly name: string;
  /** Distinguishes the account from an earlier one of the same name. */
  readonly uid: string;
}

/** What a token says about its bearer, besides the account. */
interface AccountCircumstances {
  /** `jti` of the token. */
  readonly tokenId?: string;
  readonly pod?: ObjectReference;
  /** The pod's node, or the node to which the token is bound. */
  readonly node?: { readonly name: string; readonly uid?: string };
}

export interface ObjectReference {
  readonly name: string;
  readonly uid: string;
}

/** Identifies a single credential of a user, in `extra` and in the audit log. */
export const credentialId = (tokenId: string): string => `JTI=${tokenId}`;

/** The user of a token, as authorizers and reviews see it. */
export function accountUser(
  account: AccountReference,
  { tokenId, pod, node }: AccountCircumstances,
  { domain }: Dialect,
): UserInfo {
  const extra: Readonly<Record<string, string | undefined>> = {
    'credential-id': tokenId === undefined ? undefined : credentialId(tokenId),
    'pod-name': pod?.name,
    'pod-uid': pod?.uid,
    'node-name': node?.name,
    'node-uid': node?.uid,
  };
  return {
    username: accountUsername(account),
    uid: account.uid,
    groups: [...accountGroups(account.namespace), groupAuthenticated],
    extra: Object.fromEntries(
      Object.entries(extra).flatMap(([key, value]) =>
        value === undefined ? [] : [[`authentication.${domain}/${key}`, [value]]],
      ),
    ),
  };
}
