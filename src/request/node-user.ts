import type { UserInfo } from './user-info.ts';

/** The group of kubelets. */
export const groupNodes = 'system:nodes';
const nodePrefix = 'system:node:';

/**
 * The node of a kubelet: user `system:node:<name>` in group `system:nodes`. '' if the name is missing, so the node
 * cannot be determined; undefined if the user is not a kubelet. The name without the group, or the group without the
 * name, means nothing.
 */
export const nodeNameOf = ({ username, groups }: UserInfo): string | undefined =>
  username.startsWith(nodePrefix) && groups.includes(groupNodes) ? username.slice(nodePrefix.length) : undefined;

/** The user name of a node's kubelet. */
export const nodeUserName = (node: string): string => nodePrefix + node;
