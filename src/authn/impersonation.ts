import type { Dialect } from '../dialect/dialect.ts';
import { badRequest } from '../meta/status-error.ts';
import type { ResourceAttributes } from '../request/attributes.ts';
import { anonymousUser, groupAuthenticated, groupUnauthenticated, type UserInfo } from '../request/user-info.ts';
import { isDnsLabel, isDnsSubdomain } from '../schema/formats.ts';
import { decodeHeaderText, extraKey } from './header-decoding.ts';
import { impersonationPrefix, isImpersonationHeader } from './identity-headers.ts';

/** As whom a request wants to be served. */
interface Impersonation {
  readonly username: string;
  /** '' where none was named. */
  readonly uid: string;
  /** In the order in which they were sent. */
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
 * Reads `Impersonate-User`, `-Uid`, `-Group` (each line is one group, commas are part of it) and `-Extra-<key>`. Of several
 * users or uids the first that is not empty counts. Undefined where nobody is to be impersonated.
 *
 * @throws BadRequest for any of them without a user, or with one that is empty, for such headers that nobody knows, and for
 * what is not UTF-8. Published servers serve the sender where what was sent is empty, answer 500 to other headers alone and
 * overlook unknown ones; but the mistake is the client's, and who asks to be somebody else must not be served as himself.
 */
export function readImpersonation(request: ImpersonationHeaders): Impersonation | undefined {
  const names = request.headerNames().filter(isImpersonationHeader);
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined) throw badRequest(`header ${JSON.stringify(unknown)} is no impersonation header`);
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

/** What no header can hold in its value, and a key would hold by its percent-encoding. */
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
 * What the sender must be allowed to do, each with the verb `impersonate`, in the order in which it is asked: the user or
 * the service account, each group, each extra value, the uid.
 */
export function impersonationAttributes(
  { username, uid, groups, extra }: Impersonation,
  dialect: Dialect,
): readonly ResourceAttributes[] {
  const account = serviceAccount(username);
  const authentication = { ...nothing, group: dialect.group('authentication'), version: 'v1' };
  return [
    account
      ? { ...nothing, resource: 'serviceaccounts', ...account }
      : { ...nothing, resource: 'users', name: username },
    ...groups.map((name) => ({ ...nothing, resource: 'groups', name })),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: 'userextras', subresource, name })),
    ),
    ...(uid === '' ? [] : [{ ...authentication, resource: 'uids', name: uid }]),
  ];
}

/** Users and groups are no objects: published servers ask about them without a version. */
const nothing = {
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

/** The service account that a user name stands for; undefined where it is somebody else's, or no account can have it. */
function serviceAccount(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(accountPrefix)) return undefined;
  const [namespace = '', name = '', ...more] = username.slice(accountPrefix.length).split(':');
  if (more.length > 0 || isDnsLabel(namespace).length > 0 || isDnsSubdomain(name).length > 0) return undefined;
  return { namespace, name };
}

/** The user that the request is served as, once all of it is allowed. */
export function impersonatedUser(impersonation: Impersonation): UserInfo {
  const { username, uid, extra } = impersonation;
  const groups = groupsOf(impersonation);
  return { username, uid, groups: [...groups, ...addedGroups(username, groups)], extra };
}

/** Groups that were named are all; of a service account the others are known. */
function groupsOf({ username, groups }: Impersonation): readonly string[] {
  const account = serviceAccount(username);
  if (groups.length > 0 || !account) return groups;
  return ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
}

/** Everybody is in one of these two groups; who names one chooses it. */
function addedGroups(username: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(groupUnauthenticated)) return [];
  if (username === anonymousUser.username) return [groupUnauthenticated];
  return groups.includes(groupAuthenticated) ? [] : [groupAuthenticated];
}
