import { isUtf8 } from 'node:buffer';
import type { User } from '../../support/identity.ts';

/**
 * Whom a request must be served as, by its header fields and the certificate of its connection. Written from the rules, and
 * not from the product: it sees the fields as a strict reader of the bytes finds them.
 */

/** Each character is a byte, as it was sent. */
export type Field = readonly [name: string, value: string];

export type Protocol = 'HTTP/2' | 'HTTP/1.1';

/** What the certificate of a connection says. */
export type Shown = 'administrator' | 'proxy' | 'nothing';

export type Verdict =
  | { readonly kind: 'served'; readonly user: User }
  /** 400. */
  | { readonly kind: 'refused' }
  /** 401. */
  | { readonly kind: 'unauthorized' }
  /** 403, and whom it names. */
  | { readonly kind: 'forbidden'; readonly username: string };

/** Who there is. */
export interface World {
  readonly administrator: User;
  readonly tokens: Readonly<Record<string, User>>;
  /** Whom, and which groups, users may impersonate; members of `system:masters` may anybody. */
  readonly mayBe: Readonly<Record<string, { readonly users: readonly string[]; readonly groups: readonly string[] }>>;
}

const anonymous = 'system:anonymous';
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const notAllowed = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether a field can stand in a request at all. */
const isWellFormed = ([name, value]: Field, protocol: Protocol): boolean =>
  token.test(name) && !notAllowed.test(value) && (protocol === 'HTTP/1.1' || !/[A-Z]/.test(name));

const withoutBlanks = (value: string): string => value.replace(/^[ \t]+/, '').replace(/[ \t]+$/, '');

export function judge(world: World, shown: Shown, protocol: Protocol, fields: readonly Field[]): Verdict {
  if (!fields.every((field) => isWellFormed(field, protocol))) return { kind: 'refused' };
  const clean = fields.map(([name, value]): Field => [name.toLowerCase(), withoutBlanks(value)]);
  if (linesOf(clean, 'authorization').length > 1) return { kind: 'refused' };
  const sender = authenticate(world, shown, clean);
  if (sender === 'fails') return { kind: 'unauthorized' };
  return impersonate(world, sender, clean);
}

const linesOf = (fields: readonly Field[], name: string): readonly string[] =>
  fields.filter(([each]) => each === name).map(([, value]) => value);

/** Texts of values in UTF-8; undefined where one is not. */
function texts(values: readonly string[]): readonly string[] | undefined {
  const bytes = values.map((value) => Buffer.from(value, 'latin1'));
  return bytes.every((each) => isUtf8(each)) ? bytes.map((each) => each.toString()) : undefined;
}

/** The first credential that holds; nobody where none was shown; `fails` where some were and none holds. */
function authenticate(world: World, shown: Shown, fields: readonly Field[]): User | 'nobody' | 'fails' {
  const found = [...byCertificate(world, shown, fields), byToken(world, fields)];
  const user = found.find((each) => typeof each !== 'string');
  if (user && typeof user !== 'string') return user;
  return found.includes('fails') ? 'fails' : 'nobody';
}

function byCertificate(world: World, shown: Shown, fields: readonly Field[]): readonly (User | 'nobody' | 'fails')[] {
  switch (shown) {
    case 'administrator':
      return [world.administrator];
    case 'proxy':
      // It is no user's certificate: a proxy that speaks for nobody is nobody.
      return [byProxy(fields), 'fails'];
    case 'nothing':
      return [];
  }
}

function byProxy(fields: readonly Field[]): User | 'nobody' | 'fails' {
  const names = texts(linesOf(fields, 'x-remote-user'));
  if (!names) return 'fails';
  const username = names[0] ?? '';
  if (username === '') return 'nobody';
  const uids = texts(linesOf(fields, 'x-remote-uid'));
  const groups = texts(linesOf(fields, 'x-remote-group'));
  const extra = extraOf(fields, 'x-remote-extra-');
  if (!uids || !groups || !extra) return 'fails';
  const uid = uids[0] ?? '';
  return authenticated(userOf({ username, uid, groups: groups.filter((group) => group !== ''), extra }));
}

interface Parts {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const userOf = ({ username, uid, groups, extra }: Parts): User => ({
  username,
  ...(uid !== '' && { uid }),
  groups,
  ...(Object.keys(extra).length > 0 && { extra }),
});

const authenticated = (user: User): User =>
  user.groups.includes('system:authenticated') ? user : { ...user, groups: [...user.groups, 'system:authenticated'] };

function byToken(world: World, fields: readonly Field[]): User | 'nobody' | 'fails' {
  const [value = ''] = linesOf(fields, 'authorization');
  const [scheme = '', credential] = value.split(' ');
  if (scheme === '') return 'nobody';
  if (!token.test(scheme)) return 'fails';
  if (scheme.toLowerCase() !== 'bearer' || credential === undefined) return 'nobody';
  const known = Object.hasOwn(world.tokens, credential) ? world.tokens[credential] : undefined;
  return known ?? 'fails';
}

/** Values by their keys, which follow a prefix in the name, percent-encoded; undefined where one is not UTF-8. */
function extraOf(fields: readonly Field[], prefix: string): Record<string, readonly string[]> | undefined {
  const extra: Record<string, readonly string[]> = {};
  for (const [name, value] of fields) {
    if (!name.startsWith(prefix)) continue;
    const [text] = texts([value]) ?? [];
    if (text === undefined) return undefined;
    const key = decoded(name.slice(prefix.length)).toLowerCase();
    extra[key] = [...(extra[key] ?? []), text];
  }
  return extra;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const impersonating = ['impersonate-user', 'impersonate-uid', 'impersonate-group'];
const isKnown = (name: string): boolean => impersonating.includes(name) || name.startsWith('impersonate-extra-');

function impersonate(world: World, sender: User | 'nobody', fields: readonly Field[]): Verdict {
  const names = fields.map(([name]) => name).filter((name) => name.startsWith('impersonate-'));
  const senderName = sender === 'nobody' ? anonymous : sender.username;
  if (names.length === 0) {
    return sender === 'nobody' ? { kind: 'forbidden', username: anonymous } : { kind: 'served', user: sender };
  }
  const [users, uids, groups] = impersonating.map((name) => texts(linesOf(fields, name)));
  const extra = extraOf(fields, 'impersonate-extra-');
  if (!names.every(isKnown) || !users || !uids || !groups || !extra) return { kind: 'refused' };
  const username = users.find((each) => each !== '') ?? '';
  if (username === '') return { kind: 'refused' };
  const uid = uids.find((each) => each !== '') ?? '';
  const may = sender !== 'nobody' && mayImpersonate(world, sender, { username, uid, groups, extra });
  if (!may) return { kind: 'forbidden', username: senderName };
  const all = groups.length > 0 ? groups : accountGroups(username);
  return { kind: 'served', user: authenticated(userOf({ username, uid, groups: all, extra })) };
}

function accountGroups(username: string): readonly string[] {
  const [, namespace] = /^system:serviceaccount:([a-z0-9]+):[a-z0-9]+$/.exec(username) ?? [];
  return namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

function mayImpersonate(world: World, sender: User, { username, uid, groups, extra }: Parts): boolean {
  if (sender.groups.includes('system:masters')) return true;
  const may = world.mayBe[sender.username];
  if (!may || uid !== '' || Object.keys(extra).length > 0) return false;
  return may.users.includes(username) && groups.every((group) => may.groups.includes(group));
}
