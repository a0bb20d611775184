import { decodeHeaderText } from '../base/header-text.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { isDnsLabel, isDnsSubdomain } from '../meta/formats.ts';
import { badRequest } from '../meta/status-error.ts';
import type { ResourceAttributes } from '../request/authorization-attributes.ts';
import { accountGroups } from '../request/service-account-user.ts';
import { anonymousUser, groupAuthenticated, groupUnauthenticated, type UserInfo } from '../request/user-info.ts';
import { extraKey } from './header-decoding.ts';
import { impersonationPrefix, isImpersonationHeader } from './identity-headers.ts';

/** The identity that a request asks to assume. */
interface Impersonation {
  readonly username: string;
  /** '' if none was given. */
  readonly uid: string;
  /** In the order sent. */
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The headers of a request. */
interface ImpersonationHeaders {
  headerLines(name: string): readonly string[];
  headerNames(): readonly string[];
}

const headers = {
  user: `${impersonationPrefix}user`,
  uid: `${impersonationPrefix}uid`,
  group: `${impersonationPrefix}group`,
  extra: `${impersonationPrefix}extra-`,
} as const;

/**
 * Reads `Impersonate-User`, `-Uid`, `-Group` (one group per line; commas are part of the name) and `-Extra-<key>`. Of
 * several users or uids the first non-empty one counts. Undefined if the request asks for no impersonation.
 *
 * @throws BadRequest if any of them comes without a user or with an empty one, if such a header is unknown, or if a
 *   value is not UTF-8. kube-apiserver serves the sender itself if the user is empty, answers 500 to the other headers
 *   alone and ignores unknown ones. But it is the client's error, and a request for impersonation must not be served as
 *   the sender.
 */
export function readImpersonation(request: ImpersonationHeaders): Impersonation | undefined {
  const names = request.headerNames().filter(isImpersonationHeader);
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined) throw badRequest(`header ${JSON.stringify(unknown)} is not an impersonation header`);
  const username = firstText(texts(request, headers.user));
  const uid = firstText(texts(request, headers.uid));
  const groups = texts(request, headers.group);
  const extra = readExtra(request, names);
  if (username !== '') return { username, uid, groups, extra };
  if (names.length === 0) return undefined;
  throw badRequest('header Impersonate-User is missing or empty: nobody else can be impersonated without a user');
}

const isKnown = (name: string): boolean =>
  name === headers.user || name === headers.uid || name === headers.group || name.startsWith(headers.extra);

function readExtra(request: ImpersonationHeaders, names: readonly string[]): Impersonation['extra'] {
  const extra = new Map<string, string[]>();
  for (const name of names) {
    if (!name.startsWith(headers.extra)) continue;
    const key = extraKey(name.slice(headers.extra.length));
    if (control.test(key)) throw badRequest(`the key of header ${name} has a control character`);
    const values = extra.get(key) ?? [];
    values.push(...texts(request, name));
    extra.set(key, values);
  }
  return Object.fromEntries(extra);
}

/** Control characters. A header value cannot contain them, but a percent-encoded key can. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const control = /[\0-\x1f\x7f]/;

const firstText = (values: readonly string[]): string => values.find((value) => value !== '') ?? '';

const texts = (request: ImpersonationHeaders, name: string): readonly string[] =>
  request.headerLines(name).map((line) => {
    const text = decodeHeaderText(line);
    if (text === undefined) throw badRequest(`the value of header ${name} is not UTF-8`);
    return text;
  });

/**
 * The access checks for the sender, all with the verb `impersonate`, in order: the user or service account, each group,
 * each extra value, the uid.
 */
export function impersonationAttributes(
  { username, uid, groups, extra }: Impersonation,
  dialect: Dialect,
): readonly ResourceAttributes[] {
  const account = serviceAccount(username);
  const authentication = { ...baseAttributes, group: dialect.group('authentication'), version: 'v1' };
  return [
    account
      ? { ...baseAttributes, resource: 'serviceaccounts', ...account }
      : { ...baseAttributes, resource: 'users', name: username },
    ...groups.map((name) => ({ ...baseAttributes, resource: 'groups', name })),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: 'userextras', subresource, name })),
    ),
    ...(uid === '' ? [] : [{ ...authentication, resource: 'uids', name: uid }]),
  ];
}

/** Users and groups are not objects: like kube-apiserver, the check has no version. */
const baseAttributes = {
  type: 'resource',
  verb: 'impersonate',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
} as const;

const accountPrefix = 'system:serviceaccount:';

/** The service account that a user name denotes; undefined if it denotes none or the account name is invalid. */
function serviceAccount(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(accountPrefix)) return undefined;
  const [namespace = '', name = '', ...more] = username.slice(accountPrefix.length).split(':');
  if (more.length > 0 || isDnsLabel(namespace).length > 0 || isDnsSubdomain(name).length > 0) return undefined;
  return { namespace, name };
}

/** The user for which the request is served once all checks pass. */
export function impersonatedUser(impersonation: Impersonation): UserInfo {
  const { username, uid, extra } = impersonation;
  const groups = groupsOf(impersonation);
  return { username, uid, groups: [...groups, ...addedGroups(username, groups)], extra };
}

/** Explicit groups are complete; without any, a service account gets its implied groups. */
function groupsOf({ username, groups }: Impersonation): readonly string[] {
  const account = serviceAccount(username);
  if (groups.length > 0 || !account) return groups;
  return accountGroups(account.namespace);
}

/** Every user is in exactly one of the groups authenticated and unauthenticated; an explicit one wins. */
function addedGroups(username: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(groupUnauthenticated)) return [];
  if (username === anonymousUser.username) return [groupUnauthenticated];
  return groups.includes(groupAuthenticated) ? [] : [groupAuthenticated];
}
