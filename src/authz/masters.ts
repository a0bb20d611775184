import { groupMasters } from '../request/user-info.ts';
import type { Authorizer, Decision } from './authorizer.ts';

const allowed: Decision = { verdict: 'allow', reason: '' };
const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

/** Masters may do all, whatever the other authorizers say (spec section 5.7); so it stands first. */
export const masters: Authorizer = {
  authorize: (_attributes, user) => (user.groups.includes(groupMasters) ? allowed : noOpinion),
};
