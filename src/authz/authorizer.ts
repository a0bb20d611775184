import type { Caller } from '../base/caller.ts';
import { forbiddenObject, StatusError } from '../meta/status-error.ts';
import type { Decision } from '../request/access.ts';
import type { Attributes, ResourceAttributes } from '../request/authorization-attributes.ts';
import type { UserInfo } from '../request/user-info.ts';

export type { Decision } from '../request/access.ts';
export type { Attributes, PathAttributes, ResourceAttributes } from '../request/authorization-attributes.ts';

export interface Authorizer {
  /**
   * Decides about one request. Expected failures are reported in the decision's `evaluationError`. An exception is a bug: the
   * request is then refused without consulting other authorizers. Remote calls end when the caller goes away; the promise then
   * rejects.
   */
  authorize(attributes: Attributes, user: UserInfo, caller?: Caller): Decision | Promise<Decision>;
}

/** kube-apiserver's refusal message, without the prefix that names the object. */
function forbiddenMessage(attributes: Attributes, user: UserInfo): string {
  const who = `User ${quote(user.username)} cannot ${attributes.verb}`;
  if (attributes.type === 'path') return escapeMarkup(`${who} path ${quote(attributes.path)}`);
  const { resource, subresource, group, namespace } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  return escapeMarkup(`${who} resource ${quote(what)} in API group ${quote(group)} ${where}`);
}

/** The error for a refused request (spec section 7, 403). `reason` is the authorizer's. */
export function forbidden(attributes: Attributes, user: UserInfo, reason = ''): StatusError {
  const why = forbiddenMessage(attributes, user) + (reason === '' ? '' : `: ${reason}`);
  if (attributes.type === 'path') return new StatusError('Forbidden', `forbidden: ${why}`, { details: {} });
  return forbiddenObject(attributes, attributes.name, why);
}

/** Throws the refusal if the user is not allowed. Returns a promise only if the authorizer does. */
export function requirePermission(
  authorizer: Authorizer,
  attributes: Attributes,
  user: UserInfo,
  caller?: Caller,
): void | Promise<void> {
  const decision = authorizer.authorize(attributes, user, caller);
  const require = ({ verdict, reason }: Decision): void => {
    if (verdict !== 'allow') throw forbidden(attributes, user, reason);
  };
  return decision instanceof Promise ? decision.then(require) : require(decision);
}

/** Verb required in addition to `delete` to delete an object that cannot be read (KEP-3926). */
const unsafeDeleteVerb = 'unsafe-delete-ignore-read-errors';

/** Throws kube-apiserver's refusal if the user may not delete unreadable objects. */
export function requireUnsafeDelete(
  authorizer: Authorizer,
  attributes: ResourceAttributes,
  user: UserInfo,
  caller?: Caller,
): void | Promise<void> {
  const asked = { ...attributes, verb: unsafeDeleteVerb };
  const decision = authorizer.authorize(asked, user, caller);
  const require = ({ verdict, reason }: Decision): void => {
    if (verdict === 'allow') return;
    throw forbiddenObject(asked, asked.name, `not permitted to do ${quote(unsafeDeleteVerb)}, reason: ${reason}`);
  };
  return decision instanceof Promise ? decision.then(require) : require(decision);
}

const quote = (text: string): string => JSON.stringify(text);

/** Names and paths come from the client: browsers must not interpret the message as HTML. */
const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
