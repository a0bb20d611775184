import type { UserInfo } from '../../request/user-info.ts';
import { type Infer, list, map, opt, string, struct } from '../../schema/schema.ts';

/** UserInfo (spec section 2.5). */
export const userInfo = struct('api.authentication.v1.UserInfo', 'Who a caller is.', {
  username: opt(1, string(), 'Names the user, uniquely among those that are active.'),
  uid: opt(2, string(), 'Tells users of the same name apart, over all time.'),
  groups: opt(3, list(string()), 'Groups that the user belongs to.'),
  extra: opt(4, map(list(string(), { typeUndocumented: true })), 'What else the authenticator knows of the user.'),
});

/** Converts a user to the API type, without empty fields. */
export const userInfoOf = ({ username, uid, groups, extra }: UserInfo): Infer<typeof userInfo> => ({
  ...(username !== '' && { username }),
  ...(uid !== '' && { uid }),
  ...(groups.length > 0 && { groups: [...groups] }),
  ...(Object.keys(extra).length > 0 && { extra: copyOf(extra) }),
});

/** Faster than structuredClone, which matters for the rate of reviews. */
const copyOf = (extra: UserInfo['extra']): Record<string, string[]> => Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
