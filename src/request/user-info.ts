/** Identity of a user (spec sections 2.5 and 5.1). Authentication does not interpret the values; authorizers do. */
export interface UserInfo {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const groupAuthenticated = 'system:authenticated';
export const groupUnauthenticated = 'system:unauthenticated';
/** Bypasses all authorizers (spec section 5.7). */
export const groupMasters = 'system:masters';

/** May read metrics and the state of the server, and continue traces. */
export const groupMonitoring = 'system:monitoring';

export const anonymousUser: UserInfo = {
  username: 'system:anonymous',
  uid: '',
  groups: [groupUnauthenticated],
  extra: {},
};
