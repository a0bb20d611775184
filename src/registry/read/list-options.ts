import { limits } from '../../base/limits.ts';
import type { EntryMatcher, RequiredField } from '../../cache/cache.ts';
import type { Kind } from '../../kinds/kind.ts';
import { getOptions, listOptions } from '../../kinds/meta/request-options.ts';
import { notSupportedOf } from '../../meta/field-error.ts';
import { isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { matches, parseFieldSelector, parseLabelSelector, requiredValue, type Selector } from '../../meta/selectors.ts';
import { badRequest } from '../../meta/status-error.ts';
import { booleanParameter } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Infer } from '../../schema/schema.ts';
import type { Revision } from '../../store/store.ts';
import { queryOptions } from '../query-options.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { invalidOptions } from '../write/write-options.ts';
import { type ContinueToken, decodeContinueToken } from './continue-token.ts';

/** Required freshness of a read (spec section 4.5). */
export type Consistency =
  | { readonly type: 'mostRecent' }
  | { readonly type: 'any' }
  | { readonly type: 'notOlderThan'; readonly revision: Revision }
  | { readonly type: 'exact'; readonly revision: Revision };

/** The objects of a collection that a request selects. */
export interface Selection {
  /** The name that the field selector requires, if any. */
  readonly name: string | undefined;
  /** The namespace that the field selector requires, if any. */
  readonly namespace: string | undefined;
  /** A value that the field selector requires of another field, preferably an indexed one. */
  readonly requires: RequiredField | undefined;
  /** Undefined if everything is selected. */
  readonly matches: EntryMatcher | undefined;
}

export interface ListOptions {
  readonly consistency: Consistency;
  readonly selection: Selection;
  /** Maximum number of items. Default: all. */
  readonly limit: number | undefined;
  /** Where a chunked list continues. */
  readonly after: string | undefined;
}

export interface WatchOptions {
  readonly selection: Selection;
  /** Where events start: at a state, which may be sent first, or right after a revision. */
  readonly start:
    | {
        readonly type: 'state';
        readonly send: boolean;
        readonly consistency: Exclude<Consistency, { readonly type: 'exact' }>;
      }
    | { readonly type: 'after'; readonly revision: Revision };
  readonly bookmarks: boolean;
  /** Only with `start.type` 'state': send a bookmark after the initial state. */
  readonly initialEventsEnd: boolean;
  /** In milliseconds; undefined if the client sent none. */
  readonly timeoutMs: number | undefined;
}

/**
 * A resourceVersion sent by a client: digits. A number beyond the safe range becomes the largest safe integer, which
 * fails like any revision not reached yet.
 */
export function parseResourceVersion(text: string): Revision {
  if (!/^\d{1,20}$/.test(text))
    throw badRequest(`invalid resource version ${JSON.stringify(text)}: must be a version that this server gave`);
  const revision = Number(text);
  return Number.isSafeInteger(revision) ? revision : Number.MAX_SAFE_INTEGER;
}

/** The consistency of a GET of one object. */
export function getConsistency(query: URLSearchParams): Exclude<Consistency, { readonly type: 'exact' }> {
  if (booleanParameter(query, 'export')) {
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  }
  const { resourceVersion = '' } = queryOptions(getOptions, query);
  if (resourceVersion === '') return { type: 'mostRecent' };
  const revision = parseResourceVersion(resourceVersion);
  return revision === 0 ? { type: 'any' } : { type: 'notOlderThan', revision };
}

type SentOptions = Infer<typeof listOptions>;

/** The collection that a list or watch reads. */
interface ListedCollection {
  readonly kind: Kind;
  /** See ServedResource. */
  readonly unselectable?: ServedResource['unselectable'];
  /** Key prefix. */
  readonly collectionKey: string;
  readonly metaGroup: string;
  /** The only object that the path selects (`/watch/.../{name}`). */
  readonly name?: string;
}

/** The collection of a request. */
export const listedCollection = (
  { dialect }: Pick<RegistryParts, 'dialect'>,
  { served, info }: Pick<VerbRequest, 'served' | 'info'>,
): ListedCollection => ({
  kind: served.kind,
  unselectable: served.unselectable,
  collectionKey: served.collectionKey(info.namespace),
  metaGroup: dialect.group('meta'),
  ...(info.watchPath?.name && { name: info.watchPath.name }),
});

/** Parses parameter set L of a list, or DC of a collection delete (spec section 4.1). */
export function parseListOptions(query: URLSearchParams, listed: ListedCollection): ListOptions {
  const { collectionKey, metaGroup } = listed;
  const sent = queryOptions(listOptions, query);
  if (sent.sendInitialEvents !== undefined) throw badRequest('sendInitialEvents is forbidden for list');
  validateMatch(sent, ['', 'Exact', 'NotOlderThan'], metaGroup);
  // A negative limit means no limit, as in kube-apiserver.
  const limit = Math.max(0, Number(sent.limit ?? 0));
  const continued = sent.continue === undefined ? undefined : decodeContinueToken(sent.continue, collectionKey);
  return {
    consistency: listConsistency(sent, { limited: limit > 0, continued }),
    selection: parseSelection(sent, listed, undefined),
    limit: limit === 0 ? undefined : limit,
    after: continued?.after,
  };
}

/**
 * The table of spec section 4.5 for lists. Invalid combinations are 400 (spec section 7); kube-apiserver returns 422.
 */
function listConsistency(
  { resourceVersion: version = '', resourceVersionMatch: match = '' }: SentOptions,
  { limited, continued }: { readonly limited: boolean; readonly continued: ContinueToken | undefined },
): Consistency {
  if (match !== '' && version === '') {
    throw badRequest('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (continued !== undefined) {
    if (match !== '') throw badRequest('resourceVersionMatch is forbidden when continue is provided');
    if (version !== '' && parseResourceVersion(version) !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    if (continued.revision === 'newest') return { type: 'mostRecent' };
    return { type: 'exact', revision: continued.revision };
  }
  if (version === '') return { type: 'mostRecent' };
  const revision = parseResourceVersion(version);
  if (revision === 0) {
    if (match === 'Exact') throw badRequest('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
    return { type: 'any' };
  }
  const exact = match === 'Exact' || (match === '' && limited);
  return { type: exact ? 'exact' : 'notOlderThan', revision };
}

function validateMatch(sent: SentOptions, supported: readonly string[], metaGroup: string): void {
  const { resourceVersionMatch: match = '' } = sent;
  if (match === '' || supported.includes(match)) return;
  throw invalidOptions(listOptions, metaGroup, [notSupportedOf('resourceVersionMatch', match, supported)]);
}

/** Parses parameter set L of a watch. The starting points are in the last sentences of spec section 4.5. */
export function parseWatchOptions(
  query: URLSearchParams,
  listed: Omit<ListedCollection, 'collectionKey'>,
): WatchOptions {
  const { metaGroup, name } = listed;
  const sent = queryOptions(listOptions, query);
  const { resourceVersion: version = '', resourceVersionMatch: match = '', sendInitialEvents } = sent;
  const bookmarks = sent.allowWatchBookmarks ?? false;
  if (sendInitialEvents === undefined && match !== '') {
    throw badRequest('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  }
  validateMatch(sent, ['', 'Exact', 'NotOlderThan'], metaGroup);
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    throw badRequest('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (sent.continue !== undefined) throw badRequest('continue is forbidden for watch');
  const revision = version === '' ? 0 : parseResourceVersion(version);
  return {
    selection: parseSelection(sent, listed, name),
    start: watchStart(sendInitialEvents, version, revision),
    bookmarks,
    initialEventsEnd: sendInitialEvents === true && bookmarks,
    timeoutMs: watchTimeoutMs(Number(sent.timeoutSeconds ?? 0)),
  };
}

/** As in kube-apiserver, 0 means the server's default, and a negative timeout ends the watch at once. */
function watchTimeoutMs(seconds: number): number | undefined {
  if (seconds === 0) return undefined;
  return Math.min(Math.max(0, seconds) * 1000, limits.watchTimeoutMsMax);
}

function watchStart(initialEvents: boolean | undefined, version: string, revision: Revision): WatchOptions['start'] {
  if (version !== '' && revision !== 0) {
    return initialEvents === true
      ? { type: 'state', send: true, consistency: { type: 'notOlderThan', revision } }
      : { type: 'after', revision };
  }
  return { type: 'state', send: initialEvents !== false, consistency: { type: version === '' ? 'mostRecent' : 'any' } };
}

function parseSelection(
  { labelSelector = '', fieldSelector = '' }: SentOptions,
  { kind, unselectable }: Pick<ListedCollection, 'kind' | 'unselectable'>,
  only: string | undefined,
): Selection {
  const labels = parseLabelSelector(labelSelector, isQualifiedName, isLabelValue);
  const selected = parseFieldSelector(fieldSelector);
  for (const { key } of selected) {
    checkField(key, kind);
    if (unselectable?.has(key)) throw badRequest(`field label not supported: ${key}: not all stored versions have it`);
  }
  const { storedAs } = kind;
  const stored = storedAs ? selected.map((each) => ({ ...each, key: storedAs.storedLabel(each.key) })) : selected;
  const fields = only === undefined ? stored : withName(stored, only);
  return {
    name: requiredValue(fields, 'metadata.name'),
    namespace: kind.scope === 'Namespaced' ? requiredValue(fields, 'metadata.namespace') : undefined,
    requires: requiredField(fields, storedAs?.kind ?? kind),
    matches: matcher(labels, fields),
  };
}

/** Adds the name that the path selects. A field selector must require the same name, as in kube-apiserver. */
function withName(fields: Selector, name: string): Selector {
  if (fields.length === 0) return [{ operator: 'in', key: 'metadata.name', values: new Set([name]) }];
  if (requiredValue(fields, 'metadata.name') === name) return fields;
  throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

function requiredField(fields: Selector, { selectableFields }: Kind): RequiredField | undefined {
  let found: RequiredField | undefined;
  for (const { label, indexed } of selectableFields) {
    const value = requiredValue(fields, label);
    if (value === undefined || (found && !indexed)) continue;
    found = { label, value };
    if (indexed) break;
  }
  return found;
}

/** As in kube-apiserver, objects without a namespace can be selected by it unless their kind is custom or names fields of its own. */
function checkField(key: string, { scope, selectableFields, schema }: Kind): void {
  const hasOwn = selectableFields.length > 0 || schema.structural === true;
  const known =
    key === 'metadata.name' ||
    (key === 'metadata.namespace' && (scope === 'Namespaced' || !hasOwn)) ||
    selectableFields.some(({ label }) => label === key);
  if (known) return;
  throw badRequest(
    hasOwn
      ? `field label not supported: ${key}`
      : `${JSON.stringify(key)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

function matcher(labels: Selector, fields: Selector): EntryMatcher | undefined {
  if (labels.length === 0 && fields.length === 0) return undefined;
  return (entry) => matches(labels, (key) => entry.label(key)) && matches(fields, (label) => entry.field(label));
}
