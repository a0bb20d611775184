import { components } from '../../../dialect/components.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { groupNodes } from '../../../request/node-user.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import { groupMasters, type UserInfo } from '../../../request/user-info.ts';
import type { LevelName } from './priority-levels.ts';

/** A class of requests and its priority level. */
export interface FlowSchema {
  readonly name: string;
  readonly level: LevelName | 'exempt';
  /** Distinguishes the flows of one tenant: by user, or by the namespace of the request. */
  readonly distinguisher: 'user' | 'namespace';
  readonly matches: (user: UserInfo, info: RequestInfo) => boolean;
}

interface FlowSchemaOptions {
  readonly dialect: Dialect;
  /** False for users known to have no role other than those that everybody has. */
  readonly hasRole: (user: UserInfo) => boolean;
}

/** The schema of in-process clients and `system:masters`. */
export const exemptSchema: FlowSchema = {
  name: 'exempt',
  level: 'exempt',
  distinguisher: 'user',
  matches: (user) => user.groups.includes(groupMasters),
};

/**
 * The default flow schemas of kube-apiserver, in matching order: the first match wins. Unlike kube-apiserver, users
 * without any role of their own always get the lowest level, since they may request only what everybody may.
 */
export function flowSchemas({ dialect, hasRole }: FlowSchemaOptions): readonly FlowSchema[] {
  const manager = `system:${dialect.controllerManager}`;
  const scheduler = `system:${components(dialect).scheduler}`;
  const systemAccounts = `${accountPrefix}${dialect.namespaces.system}:`;
  const isSystemAccount: FlowSchema['matches'] = ({ username }) => username.startsWith(systemAccounts);
  const isComponent: FlowSchema['matches'] = ({ username }) => username === manager || username === scheduler;
  const isNode: FlowSchema['matches'] = ({ groups }) => groups.includes(groupNodes);
  const forLeases = isFor(['get', 'create', 'update'], dialect.group('coordination'), ['leases']);
  const forNodes = isFor(undefined, '', ['nodes']);
  const electsLeader: FlowSchema['matches'] = (user, info) =>
    (isComponent(user, info) || isSystemAccount(user, info)) && forLeases(info);
  return [
    exemptSchema,
    { name: 'system-leader-election', level: 'leader-election', distinguisher: 'user', matches: electsLeader },
    {
      name: 'system-node-high',
      level: 'node-high',
      distinguisher: 'user',
      matches: (user, info) => isNode(user, info) && (forNodes(info) || forLeases(info)),
    },
    { name: 'system-nodes', level: 'system', distinguisher: 'user', matches: isNode },
    {
      name: dialect.controllerManager,
      level: 'workload-high',
      distinguisher: 'namespace',
      matches: ({ username }) => username === manager,
    },
    {
      name: components(dialect).scheduler,
      level: 'workload-high',
      distinguisher: 'namespace',
      matches: ({ username }) => username === scheduler,
    },
    {
      name: `${dialect.namespaces.system}-service-accounts`,
      level: 'workload-high',
      distinguisher: 'namespace',
      matches: isSystemAccount,
    },
    { name: 'catch-all', level: 'catch-all', distinguisher: 'user', matches: (user) => !hasRole(user) },
    {
      name: 'service-accounts',
      level: 'workload-low',
      distinguisher: 'user',
      matches: ({ username }) => username.startsWith(accountPrefix),
    },
    { name: 'global-default', level: 'global-default', distinguisher: 'user', matches: () => true },
  ];
}

const accountPrefix = 'system:serviceaccount:';

const isFor =
  (verbs: readonly string[] | undefined, group: string, resources: readonly string[]) =>
  (info: RequestInfo): boolean =>
    info.type === 'resource' &&
    info.group === group &&
    resources.includes(info.resource) &&
    (verbs === undefined || verbs.includes(info.verb));

/**
 * The name of the tenant that a user's requests count against. All service accounts of a namespace are one tenant,
 * except those of the system namespace, which only administrators create.
 */
export function tenantName({ username }: UserInfo, { namespaces }: Dialect): string {
  if (!username.startsWith(accountPrefix)) return username;
  const namespace = username.slice(accountPrefix.length, username.indexOf(':', accountPrefix.length));
  return namespace === namespaces.system ? username : `system:serviceaccounts:${namespace}`;
}
