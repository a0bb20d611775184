import type { UserInfo } from '../request/user-info.ts';

/** A token that identifies a user until the server is started without it (spec section 5.2). */
export interface StaticToken {
  readonly token: string;
  readonly user: UserInfo;
}
