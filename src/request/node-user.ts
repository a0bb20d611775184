import type { UserInfo } from './user-info.ts';

/** The group of the agents that run nodes. */
export const groupNodes = 'system:nodes';
const nodePrefix = 'system:node:';

/**
 * The node that a user is the agent of: user `system:node:<name>` in the group of nodes. '' where the name is missing, so that
 * nobody can say which node it is; undefined where the user is no node's agent. A name without the group means nothing, and
 * neither does the group without the name.
 */
export const nodeNameOf = ({ username, groups }: UserInfo): string | undefined =>
  username.startsWith(nodePrefix) && groups.includes(groupNodes) ? username.slice(nodePrefix.length) : undefined;

/** The user that a node's agent is. */
export const nodeUserName = (node: string): string => nodePrefix + node;
