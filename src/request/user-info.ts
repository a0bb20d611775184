/** Who a caller is (spec sections 2.5 and 5.1). Values are opaque to authentication; authorizers interpret them. */
export interface UserInfo {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const groupAuthenticated = 'system:authenticated';
export const groupUnauthenticated = 'system:unauthenticated';
/** Unrestricted, whatever the authorizers say (spec section 5.7). */
export const groupMasters = 'system:masters';

export const anonymousUser: UserInfo = {
  username: 'system:anonymous',
  uid: '',
  groups: [groupUnauthenticated],
  extra: {},
};
