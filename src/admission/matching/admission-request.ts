import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { isNamespace, operationName } from './match-rules.ts';

/** The fields of a request that do not depend on who judges it: `request` in expressions, and in reviews. */
export function admissionRequest(attributes: AdmissionAttributes, as: ServedKind): Readonly<Record<string, unknown>> {
  const { info, name, requested, dryRun, options, user } = attributes;
  const { subresource, group, version, resource } = info;
  // A namespace that is created has no name in its path.
  const namespace = isNamespace(attributes) ? name : info.namespace;
  // That of the request may have a kind of its own, whose group is not that of the resource.
  const isRequested = as.kind === requested.kind && as.version === requested.version && as.group === requested.group;
  return {
    kind: kindOf(as.body ?? as),
    resource: isRequested
      ? { group, version, resource }
      : { group: as.group, version: as.version, resource: as.resource },
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: kindOf(requested),
    requestResource: { group, version, resource },
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation: operationName(attributes),
    userInfo: userOf(user),
    dryRun,
    options: options ?? null,
  };
}

const kindOf = ({ group, version, kind }: Pick<ServedKind, 'group' | 'version' | 'kind'>) => ({ group, version, kind });

const userOf = ({ username, uid, groups, extra }: UserInfo) => ({
  username,
  ...(uid !== '' && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(Object.keys(extra).length > 0 && { extra }),
});
