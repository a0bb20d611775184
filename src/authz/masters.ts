import { groupMasters } from '../request/user-info.ts';
import type { Authorizer, Decision } from './authorizer.ts';

const allowed: Decision = { verdict: 'allow', reason: '' };
const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

/** Allows masters everything, before any other authorizer (spec section 5.7). */
export const masters: Authorizer = {
  authorize: (_attributes, user) => (user.groups.includes(groupMasters) ? allowed : noOpinion),
};
