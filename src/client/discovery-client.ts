import type { Clock } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ApiClient, hasReason } from './api-client.ts';
import { readList } from './list-pages.ts';
import { resourcePath } from './resource-path.ts';

/** A resource from discovery. */
export interface DiscoveredResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface ApiGroup {
  readonly preferredVersion: { readonly groupVersion: string };
  /** In order of priority. */
  readonly versions: readonly { readonly groupVersion: string }[];
}

interface GroupListDocument {
  readonly groups: readonly ApiGroup[];
}

interface ResourceListDocument {
  readonly resources: readonly {
    readonly name: string;
    readonly singularName?: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/** A group in the aggregated document (KEP-3352). */
interface AggregatedGroup extends ApiObject {
  /** The preferred one first. */
  readonly versions?: readonly {
    readonly version: string;
    readonly freshness?: 'Current' | 'Stale';
    readonly resources?: readonly {
      readonly resource: string;
      readonly singularResource?: string;
      readonly responseKind?: { readonly kind: string };
      readonly scope: 'Namespaced' | 'Cluster';
      readonly verbs: readonly string[];
    }[];
  }[];
}

/** A part of discovery that could not be read. */
export interface DiscoveryFailure {
  readonly groupVersion: string;
  /** `unavailable`: the request failed. `malformed`: its name is not a valid group and version. */
  readonly type: 'unavailable' | 'malformed';
  readonly message: string;
}

export interface Discovered {
  readonly resources: readonly DiscoveredResource[];
  readonly failures: readonly DiscoveryFailure[];
}

interface DiscoveryParts {
  readonly client: ApiClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly dialect: Dialect;
  readonly signal: AbortSignal;
  /** Resources are found in all versions of their group. Default: each in one. */
  readonly inAllVersions?: boolean;
}

/** A version of a group. Reading it may fail. */
interface ApiVersion {
  readonly groupVersion: string;
  readonly read: () => readonly DiscoveredResource[] | Promise<readonly DiscoveredResource[]>;
}

/** The versions of a group, the preferred one first. */
type ApiVersions = readonly ApiVersion[];

/**
 * All resources served now, without subresources, each in the preferred version of its group, or in the first that has it if
 * the preferred one has not. A failing group does not affect the others. Rejects if the list of groups cannot be read. Two
 * requests, or one per version where the server has no aggregated discovery.
 */
export async function discoverResources(parts: DiscoveryParts): Promise<Discovered> {
  const groups = await aggregated(parts, '/apis');
  if (groups.type === 'other') {
    const listed = groups.document as GroupListDocument;
    return readVersions([[coreVersion(parts)], ...listed.groups.map((group) => versionsOf(parts, group))], parts);
  }
  return readVersions([...(await coreVersions(parts)), ...groups.groups], parts);
}

/** Groups that are asked for one by one; for more of them all of discovery is read. */
const groupsAloneMax = 4;

/** Like `discoverResources`, for some groups only; '' is the core group. A group that is not served has no resources. */
export async function discoverGroups(parts: DiscoveryParts, groups: ReadonlySet<string>): Promise<Discovered> {
  if (groups.size > groupsAloneMax) {
    const { resources, failures } = await discoverResources(parts);
    const isAsked = (apiVersion: string): boolean => groups.has(groupOf(apiVersion));
    return {
      resources: resources.filter(({ apiVersion }) => isAsked(apiVersion)),
      failures: failures.filter(({ groupVersion }) => isAsked(groupVersion)),
    };
  }
  const { client, signal } = parts;
  const versions: ApiVersions[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const group of groups) {
    try {
      if (group === '') versions.push([coreVersion(parts)]);
      else versions.push(versionsOf(parts, await client.get<ApiGroup>(`/apis/${encodeURIComponent(group)}`, signal)));
    } catch (error) {
      signal.throwIfAborted();
      if (hasReason(error, 'NotFound')) continue;
      failures.push({ groupVersion: group, type: 'unavailable', message: messageOf(error) });
    }
  }
  const found = await readVersions(versions, parts);
  return { resources: found.resources, failures: [...failures, ...found.failures] };
}

const versionsOf = (parts: DiscoveryParts, { preferredVersion, versions }: ApiGroup): ApiVersions =>
  [...new Set([preferredVersion, ...versions].map(({ groupVersion }) => groupVersion))].map((groupVersion) => ({
    groupVersion,
    read: () => resourcesOf(parts, groupVersion),
  }));

const coreVersion = (parts: DiscoveryParts): ApiVersion => ({
  groupVersion: 'v1',
  read: () => resourcesOf(parts, 'v1'),
});

/** From the aggregated document of the core group. */
async function coreVersions(parts: DiscoveryParts): Promise<readonly ApiVersions[]> {
  try {
    const core = await aggregated(parts, '/api');
    return core.type === 'aggregated' ? core.groups : [[coreVersion(parts)]];
  } catch (error) {
    parts.signal.throwIfAborted();
    return [[{ groupVersion: 'v1', read: () => Promise.reject(error) }]];
  }
}

type Root =
  | { readonly type: 'aggregated'; readonly groups: readonly ApiVersions[] }
  /** The server has no aggregated discovery, and answers as it does otherwise. */
  | { readonly type: 'other'; readonly document: unknown };

/** Groups are parsed in time slices: there may be thousands. */
async function aggregated({ client, clock, dialect, signal }: DiscoveryParts, root: '/api' | '/apis'): Promise<Root> {
  const group = dialect.group('apidiscovery');
  const forms = ['v2', 'v2beta1'].map((version) => `application/json;g=${group};v=${version};as=${aggregatedKind}`);
  const bytes = await client.accepting(forms).getBytes(root, signal);
  const head = bytes.toString('utf8', 0, headLength);
  if (!head.includes(`"${aggregatedKind}"`)) return { type: 'other', document: JSON.parse(bytes.toString()) };
  const { items } = await readList(bytes, { clock, signal });
  return { type: 'aggregated', groups: (items as readonly AggregatedGroup[]).map(versionsOfAggregated) };
}

const aggregatedKind = 'APIGroupDiscoveryList';
/** Bytes in which a document says what it is. */
const headLength = 200;

const versionsOfAggregated = ({ metadata: { name = '' }, versions = [] }: AggregatedGroup): ApiVersions =>
  versions.map(({ version, resources = [], freshness }) => {
    const apiVersion = name === '' ? version : `${name}/${version}`;
    return {
      groupVersion: apiVersion,
      read() {
        if (freshness === 'Stale') throw new Error(`stale GroupVersion discovery: ${apiVersion}`);
        return resources.map(({ resource, singularResource: singular = '', responseKind, scope, verbs }) => {
          const kind = responseKind?.kind ?? '';
          return { apiVersion, kind, resource, singular, namespaced: scope === 'Namespaced', verbs };
        });
      },
    };
  });

/** Reads the versions of each group, the preferred one first. */
async function readVersions(
  groups: readonly ApiVersions[],
  { signal, inAllVersions = false }: DiscoveryParts,
): Promise<Discovered> {
  const resources: DiscoveredResource[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const versions of groups) {
    const found = new Map<string, DiscoveredResource>();
    let failure: DiscoveryFailure | undefined;
    for (const version of versions) {
      const { groupVersion } = version;
      // What a version has that cannot be read is not looked for in later ones: its name there would be another.
      failure = failure?.type === 'unavailable' ? { ...failure, groupVersion } : undefined;
      failure ??= await readVersion(version, signal, (each) => {
        const key = inAllVersions ? `${groupVersion}/${each.resource}` : each.resource;
        if (!found.has(key)) found.set(key, each);
      });
      if (failure) failures.push(failure);
    }
    resources.push(...found.values());
  }
  return { resources, failures };
}

async function readVersion(
  { groupVersion, read }: ApiVersion,
  signal: AbortSignal,
  add: (resource: DiscoveredResource) => void,
): Promise<DiscoveryFailure | undefined> {
  if (groupVersion.split('/').length > 2 || groupVersion === '') {
    return { groupVersion, type: 'malformed', message: `unexpected GroupVersion string: ${groupVersion}` };
  }
  try {
    const resources = read();
    for (const resource of resources instanceof Promise ? await resources : resources) add(resource);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return { groupVersion, type: 'unavailable', message: messageOf(error) };
  }
}

async function resourcesOf(
  { client, signal }: DiscoveryParts,
  groupVersion: string,
): Promise<readonly DiscoveredResource[]> {
  const root = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
  const { resources } = await client.get<ResourceListDocument>(root, signal);
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, singularName = '', kind, namespaced, verbs }) => ({
      apiVersion: groupVersion,
      kind,
      resource: name,
      singular: singularName,
      namespaced,
      verbs,
    }));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

/** The path of a collection, or of an object in it. */
export function pathOf(
  { apiVersion, resource, namespaced }: DiscoveredResource,
  namespace: string,
  name?: string,
): string {
  return resourcePath({ apiVersion, resource, namespace: namespaced ? namespace : '', name });
}
