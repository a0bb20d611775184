import { groupAuthenticated, groupMasters } from '../request/user-info.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';

/** Health, version and discovery: what clients read before they know who they are. */
const publicPaths = /^\/(?:healthz|livez|readyz|version|api|apis|openapi)(?:\/|$)/;

/**
 * Who may what, without any rules to look up: masters all, other users read, and anonymous clients see whether the
 * server is well and what it serves.
 */
export const ruleOfThumb: Authorizer = {
  authorize(attributes, user): Decision {
    if (user.groups.includes(groupMasters)) return { verdict: 'allow', reason: `member of ${groupMasters}` };
    if (!reads(attributes)) return noOpinion;
    if (user.groups.includes(groupAuthenticated)) return { verdict: 'allow', reason: 'users may read' };
    if (attributes.type === 'path' && publicPaths.test(attributes.path)) {
      return { verdict: 'allow', reason: 'the path is public' };
    }
    return noOpinion;
  },
};

const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

function reads({ type, verb }: Attributes): boolean {
  if (type === 'path') return verb === 'get' || verb === 'head';
  return verb === 'get' || verb === 'list' || verb === 'watch';
}
