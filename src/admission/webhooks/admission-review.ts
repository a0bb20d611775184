import { stringifyJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { isNamespace, operationName } from '../matching/match-rules.ts';
import type { ReviewVersion } from './webhook.ts';

/** The question that admission webhooks are asked (`AdmissionReview.request`, release 1.32). */

/** `admission.k8s.io/v1` in the dialect `kubernetes`. */
export const reviewApiVersion = (dialect: Dialect, version: ReviewVersion): string =>
  apiVersionOf({ group: dialect.group('admission'), version });

/** The fields of a request that do not depend on the webhook: `request` in conditions, and in reviews. */
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

/** What a webhook is asked about. */
interface Question {
  readonly dialect: Dialect;
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly attributes: AdmissionAttributes;
  readonly as: ServedKind;
  /** JSON of the objects in the version of `as`; `null` if there is none. */
  readonly object: Buffer;
  readonly old: Buffer;
}

/** The body of a call. */
export function encodeReview({ dialect, version, uid, attributes, as, object, old }: Question): Buffer {
  const head = { kind: 'AdmissionReview', apiVersion: reviewApiVersion(dialect, version) };
  const request = stringifyJson({ uid, ...admissionRequest(attributes, as) });
  return Buffer.concat([
    Buffer.from(`${stringifyJson(head).slice(0, -1)},"request":${request.slice(0, -1)},"object":`),
    object,
    oldObjectField,
    old,
    end,
  ]);
}

const oldObjectField = Buffer.from(',"oldObject":');
const end = Buffer.from('}}');
const nothing = Buffer.from('null');

/** An object as reviews show it. */
export const encodeReviewed = (object: ApiObject | undefined): Buffer =>
  object === undefined ? nothing : Buffer.from(stringifyJson(object));
