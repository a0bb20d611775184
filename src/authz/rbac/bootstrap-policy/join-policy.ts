import type { Dialect } from '../../../dialect/dialect.ts';
import { clusterInfo } from '../../../kinds/core/cluster-info.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { groupNodes } from '../../../request/node-user.ts';
import { anonymousUser } from '../../../request/user-info.ts';
import { bindingObject, clusterBindingObject, group, roleObject, rule, user } from './policy-objects.ts';

/**
 * What nodes need to join by themselves, beside the default policy; published installers make the same under their names.
 * Everybody may get the connection data. Bootstrap tokens of the dialect's group for nodes may request certificates,
 * which are approved if they are for a node's client, and nodes renew theirs in the same way. Other bootstrap tokens
 * may do nothing of this.
 */
export function joinPolicy(dialect: Dialect): readonly ApiObject[] {
  const approved = (what: string): string =>
    `system:${dialect.group('certificates')}:certificatesigningrequests:${what}`;
  const tokens = [group(dialect.nodeBootstrappersGroup)];
  const reader = 'system:cluster-info-reader';
  return [
    clusterBindingObject(dialect, { name: 'system:node-bootstrapper', subjects: tokens }),
    clusterBindingObject(dialect, { name: approved('nodeclient'), subjects: tokens }),
    clusterBindingObject(dialect, { name: approved('selfnodeclient'), subjects: [group(groupNodes)] }),
    roleObject(dialect, dialect.namespaces.public, {
      name: reader,
      rules: [rule('get', 'configmaps', { names: [clusterInfo.name] })],
    }),
    bindingObject(dialect, dialect.namespaces.public, { name: reader, subjects: [user(anonymousUser.username)] }),
  ];
}
