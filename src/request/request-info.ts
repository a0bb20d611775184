import { parseFieldSelector, parseLabelSelector, requiredValue, type Selector } from '../meta/selectors.ts';
import { badRequest, noSuchPath } from '../meta/status-error.ts';

type ReadVerb = 'get' | 'list' | 'watch';
type WriteVerb = 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
export type ResourceVerb = ReadVerb | WriteVerb;

/** A request for a resource: a path below `/api/v1/` or `/apis/<group>/<version>/` (spec section 4.3). */
export interface ResourceRequest {
  readonly type: 'resource';
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: ResourceVerb;
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  /**
   * '' for cluster-scoped resources and for collections across all namespaces. For a Namespace object its own name, as
   * kube-apiserver's authorizers see it.
   */
  readonly namespace: string;
  /** True if the path has a `namespaces/<name>` prefix before the resource. */
  readonly inNamespace: boolean;
  readonly resource: string;
  /** '' if there is none. */
  readonly subresource: string;
  /** '' for collections. */
  readonly name: string;
  /**
   * The path below a subresource whose requests are passed on, as it was sent: percent-encoded, with its first slash. Undefined
   * if there is none.
   */
  readonly below?: string | undefined;
  /**
   * Set for the deprecated watch paths, `/api/v1/watch/...`. Such a request is authorized as a watch whatever its
   * method; only GET and HEAD are served.
   */
  readonly watchPath?:
    | {
        /** Name of the single object in the path; '' if there is none. */
        readonly name: string;
        readonly reads: boolean;
      }
    | undefined;
  /**
   * Selectors of collection requests, for authorizers: parsed on access, undefined if absent or malformed. The verb
   * itself rejects malformed ones.
   */
  readonly fieldSelector?: Selector | undefined;
  readonly labelSelector?: Selector | undefined;
}

/** A request for any other path: health, discovery, version. */
interface PathRequest {
  readonly type: 'path';
  readonly path: string;
  readonly query: URLSearchParams;
  /**
   * The lower-case HTTP method (spec section 5.7). '' if the path is a resource path with an unknown method: a user who
   * may `get` API paths for discovery must not be able to read objects with a method in another case.
   */
  readonly verb: string;
}

export type RequestInfo = ResourceRequest | PathRequest;

/** True for verbs that do not modify anything. */
export const isReadVerb = (verb: string): boolean =>
  verb === 'get' || verb === 'list' || verb === 'watch' || verb === 'head';

const noQuery = Object.freeze(new URLSearchParams());
/** HTTP methods are case-sensitive (RFC 9110 section 9.1), so `get` is not one of them. */
const methodVerbs: ReadonlyMap<string, readonly [one: ResourceVerb, collection: ResourceVerb]> = new Map([
  ['GET', ['get', 'list']],
  ['HEAD', ['get', 'list']],
  ['POST', ['create', 'create']],
  ['PUT', ['update', 'update']],
  ['PATCH', ['patch', 'patch']],
  ['DELETE', ['delete', 'deletecollection']],
]);
/** Subresources of a namespace, as opposed to resources in it. */
const namespaceSubresources = new Set(['status', 'finalize']);

/**
 * Parses method, path and query. Each path segment is percent-decoded once. Empty, `.` and `..` segments, and an
 * encoded slash or NUL, are a 404, since two parsers could interpret them differently. Does not check whether the
 * resource exists.
 */
export function parseRequestInfo(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? noQuery : new URLSearchParams(target.slice(mark + 1));
  const { own, below } = splitBelow(path);
  const segments = splitPath(own);
  const rest = resourceSegments(segments);
  if (!rest) return { type: 'path', path, query, verb: method.toLowerCase() };
  const verbs = methodVerbs.get(method);
  if (!verbs) return { type: 'path', path, query, verb: '' };
  const [first, ...watched] = rest.segments;
  if (first === 'watch' && watched.length > 0) {
    if (below !== undefined) throw noSuchPath();
    const { group, version } = rest;
    const located = locateWatched(watched, query, verbs[0] === 'get');
    return new ParsedRequest({ path, query, group, version, ...located, below });
  }
  const place = locate(rest.segments);
  const verb = place.name === '' && !(place.resource === '') ? collectionVerb(verbs[1], query) : verbs[0];
  const name = place.name === '' && (verb === 'list' || verb === 'watch') ? selectedName(query) : place.name;
  const { group, version } = rest;
  const { namespace, inNamespace, resource, subresource } = place;
  if (below !== undefined && subresource !== passingSubresource) throw noSuchPath();
  // Each field by name: to put it together of others costs more than the rest.
  return new ParsedRequest({
    path,
    query,
    verb,
    group,
    version,
    namespace,
    inNamespace,
    resource,
    name,
    subresource,
    below,
    watchPath: undefined,
  });
}

/** One class for all: where requests differ in their fields, each look at one is a look-up by its name. */
class ParsedRequest implements ResourceRequest {
  readonly type = 'resource';
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: ResourceVerb;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly inNamespace: boolean;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly below: string | undefined;
  readonly watchPath: ResourceRequest['watchPath'];
  #selectors: RequestSelectors | undefined;

  constructor(parts: Required<Omit<ResourceRequest, 'type' | keyof RequestSelectors>>) {
    this.path = parts.path;
    this.query = parts.query;
    this.verb = parts.verb;
    this.group = parts.group;
    this.version = parts.version;
    this.namespace = parts.namespace;
    this.inNamespace = parts.inNamespace;
    this.resource = parts.resource;
    this.subresource = parts.subresource;
    this.name = parts.name;
    this.below = parts.below;
    this.watchPath = parts.watchPath;
  }

  get fieldSelector(): Selector | undefined {
    return this.#read().fieldSelector;
  }

  get labelSelector(): Selector | undefined {
    return this.#read().labelSelector;
  }

  #read(): RequestSelectors {
    this.#selectors ??= this.#selects
      ? {
          fieldSelector: readable(this.query.get('fieldSelector'), parseFieldSelector),
          labelSelector: readable(this.query.get('labelSelector'), (text) =>
            parseLabelSelector(text, anything, anything),
          ),
        }
      : noSelectors;
    return this.#selectors;
  }

  get #selects(): boolean {
    const { verb, watchPath } = this;
    return !watchPath && (verb === 'list' || verb === 'watch' || verb === 'deletecollection');
  }
}

type RequestSelectors = Pick<ResourceRequest, 'fieldSelector' | 'labelSelector'>;

const noSelectors: RequestSelectors = { fieldSelector: undefined, labelSelector: undefined };

/** The verb validates names and values; an invalid one matches nothing and is harmless for an authorizer. */
const anything = (): readonly string[] => [];

function readable(text: string | null, parse: (text: string) => Selector): Selector | undefined {
  if (!text) return undefined;
  try {
    const selector = parse(text);
    return selector.length > 0 ? selector : undefined;
  } catch {
    return undefined; // the authorizer decides on a broader request, and the verb rejects this one
  }
}

/** Requests to it are passed on, with whatever path there is below. */
const passingSubresource = 'proxy';

/** Requests that may be open for as long as their client likes; the names are those of kube-apiserver. */
const longRunningSubresources: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'log',
  'portforward',
  passingSubresource,
]);

/** Whether a request has no deadline but its own. */
export const isLongRunning = (info: RequestInfo): boolean => info.verb === 'watch' || connects(info);

/** Whether a request may become a connection to another server. */
export const connects = (info: RequestInfo): boolean =>
  info.type === 'resource' && info.subresource !== '' && longRunningSubresources.has(info.subresource);

/**
 * Takes off what is below `proxy`. It belongs to another server and stays as it was sent, but for what may lead somebody out of the
 * path that was authorized.
 */
function splitBelow(path: string): { readonly own: string; readonly below: string | undefined } {
  const at = path.indexOf(`/${passingSubresource}/`);
  if (at < 0) return { own: path, below: undefined };
  const segments = path.split('/');
  const first = segments[1] === 'api' ? 3 : segments[1] === 'apis' ? 4 : undefined;
  if (first === undefined) return { own: path, below: undefined };
  const isNamespaced = segments[first] === 'namespaces' && !namespaceSubresources.has(segments[first + 2] ?? '');
  const end = first + (isNamespaced ? 4 : 2);
  if (segments[end] !== passingSubresource || segments.length <= end + 1) return { own: path, below: undefined };
  const below = segments.slice(end + 1);
  for (const segment of below) checkBelow(segment);
  return { own: segments.slice(0, end + 1).join('/'), below: `/${below.join('/')}` };
}

function checkBelow(segment: string): void {
  if (segment === '.' || segment === '..') throw noSuchPath();
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    throw badRequest('the path is not valid percent-encoded UTF-8');
  }
  // Also inside of what one server takes for a segment and the next for several.
  if (/[\0\r\n]/.test(decoded) || /(^|[/\\])\.\.?([/\\]|$)/.test(decoded)) throw noSuchPath();
}

function splitPath(path: string): readonly string[] {
  if (!path.startsWith('/')) throw noSuchPath();
  const segments = path.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (path.includes('%')) for (const [at, segment] of segments.entries()) segments[at] = decodeSegment(segment);
  for (const segment of segments) if (segment === '' || segment === '.' || segment === '..') throw noSuchPath();
  return segments;
}

function decodeSegment(segment: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    throw badRequest('the path is not valid percent-encoded UTF-8');
  }
  if (decoded.includes('/') || decoded.includes('\0')) throw noSuchPath();
  return decoded;
}

interface GroupPath {
  readonly group: string;
  readonly version: string;
  readonly segments: readonly string[];
}

/** The segments after group and version; undefined if the path is not a resource path. */
function resourceSegments(segments: readonly string[]): GroupPath | undefined {
  const [root, first = '', second = ''] = segments;
  if (root === 'api' && segments.length > 2) return { group: '', version: first, segments: segments.slice(2) };
  if (root === 'apis' && segments.length > 3) return { group: first, version: second, segments: segments.slice(3) };
  return undefined;
}

type Place = Pick<ResourceRequest, 'namespace' | 'inNamespace' | 'resource' | 'name' | 'subresource'>;

function locate(segments: readonly string[]): Place {
  const [first = '', second = '', third = ''] = segments;
  const inNamespace = first === 'namespaces' && segments.length > 2 && !namespaceSubresources.has(third);
  const [resource = '', name = '', subresource = '', ...more] = inNamespace ? segments.slice(2) : segments;
  if (more.length > 0) throw noSuchPath();
  const namespace = inNamespace ? second : first === 'namespaces' ? name : '';
  return { namespace, inNamespace, resource, name, subresource };
}

/** As in kube-apiserver, subresources cannot be watched. Authorizers do not get the selectors of these paths. */
function locateWatched(segments: readonly string[], query: URLSearchParams, reads: boolean) {
  const place = locate(segments);
  if (place.subresource !== '') throw noSuchPath();
  const { name } = place;
  return { ...place, verb: 'watch', name: name || selectedName(query), watchPath: { name, reads } } as const;
}

function collectionVerb(verb: ResourceVerb, query: URLSearchParams): ResourceVerb {
  return verb === 'list' && booleanParameter(query, 'watch') === true ? 'watch' : verb;
}

/**
 * As in kube-apiserver, a collection request whose field selector requires one name is authorized for that name. It is
 * parsed by the verb's own parser: a different one could authorize a name that the verb does not select.
 */
function selectedName(query: URLSearchParams): string {
  const text = query.get('fieldSelector');
  if (!text?.includes('metadata.name')) return '';
  return requiredValue(readable(text, parseFieldSelector) ?? [], 'metadata.name') ?? '';
}

/**
 * `true`, `1` and a bare name are true, `false` and `0` are false, in any case; undefined if absent. kube-apiserver
 * takes any other value for true, even `force=no`; here it is a 400.
 */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  switch (value?.toLowerCase()) {
    case undefined:
      return undefined;
    case '':
    case '1':
    case 'true':
      return true;
    case '0':
    case 'false':
      return false;
    default:
      throw badRequest(`invalid value for query parameter ${name}: ${JSON.stringify(value)}: must be true or false`);
  }
}

/** A decimal integer without rounding; undefined if absent. */
export function integerParameter(query: URLSearchParams, name: string): number | bigint | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d{1,19}$/.test(value)) {
    throw badRequest(`invalid value for query parameter ${name}: ${JSON.stringify(value)}: must be an integer`);
  }
  const parsed = Number(value);
  return Number.isSafeInteger(parsed) ? parsed : BigInt(value);
}
