import { type ApiClient, hasReason } from './api-client.ts';
import { resourcePath } from './resource-path.ts';

/** A resource from discovery. */
export interface DiscoveredResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
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
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
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

/**
 * All resources served now, without subresources, each in the preferred version of its group, or in the first that has it if
 * the preferred one has not. A failing group does not affect the others. Rejects if the list of groups cannot be read.
 */
export async function discoverResources(client: ApiClient, signal: AbortSignal): Promise<Discovered> {
  const { groups } = await client.get<GroupListDocument>('/apis', signal);
  return discoverVersions(client, [['v1'], ...groups.map(versionsOf)], signal);
}

/** Like `discoverResources`, for some groups only; '' is the core group. A group that is not served has no resources. */
export async function discoverGroups(
  client: ApiClient,
  groups: Iterable<string>,
  signal: AbortSignal,
): Promise<Discovered> {
  const versions: (readonly string[])[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const group of groups) {
    try {
      if (group === '') versions.push(['v1']);
      else versions.push(versionsOf(await client.get<ApiGroup>(`/apis/${encodeURIComponent(group)}`, signal)));
    } catch (error) {
      signal.throwIfAborted();
      if (hasReason(error, 'NotFound')) continue;
      const message = error instanceof Error ? error.message : String(error);
      failures.push({ groupVersion: group, type: 'unavailable', message });
    }
  }
  const found = await discoverVersions(client, versions, signal);
  return { resources: found.resources, failures: [...failures, ...found.failures] };
}

/** The preferred version first. */
const versionsOf = ({ preferredVersion, versions }: ApiGroup): readonly string[] => [
  ...new Set([preferredVersion, ...versions].map(({ groupVersion }) => groupVersion)),
];

/** Reads the versions of each group, the preferred one first. */
async function discoverVersions(
  client: ApiClient,
  groups: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<Discovered> {
  const resources: DiscoveredResource[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const versions of groups) {
    const found = new Map<string, DiscoveredResource>();
    let failure: DiscoveryFailure | undefined;
    for (const groupVersion of versions) {
      // What a version has that cannot be read is not looked for in later ones: its name there would be another.
      failure = failure?.type === 'unavailable' ? { ...failure, groupVersion } : undefined;
      failure ??= await readVersion(client, groupVersion, signal, (each) => {
        if (!found.has(each.resource)) found.set(each.resource, each);
      });
      if (failure) failures.push(failure);
    }
    resources.push(...found.values());
  }
  return { resources, failures };
}

async function readVersion(
  client: ApiClient,
  groupVersion: string,
  signal: AbortSignal,
  add: (resource: DiscoveredResource) => void,
): Promise<DiscoveryFailure | undefined> {
  if (groupVersion.split('/').length > 2 || groupVersion === '') {
    return { groupVersion, type: 'malformed', message: `unexpected GroupVersion string: ${groupVersion}` };
  }
  try {
    for (const resource of await resourcesOf(client, groupVersion, signal)) add(resource);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return { groupVersion, type: 'unavailable', message: error instanceof Error ? error.message : String(error) };
  }
}

async function resourcesOf(
  client: ApiClient,
  groupVersion: string,
  signal: AbortSignal,
): Promise<readonly DiscoveredResource[]> {
  const root = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
  const { resources } = await client.get<ResourceListDocument>(root, signal);
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      apiVersion: groupVersion,
      kind,
      resource: name,
      namespaced,
      verbs,
    }));
}

/** The path of a collection, or of an object in it. */
export function pathOf(
  { apiVersion, resource, namespaced }: DiscoveredResource,
  namespace: string,
  name?: string,
): string {
  return resourcePath({ apiVersion, resource, namespace: namespaced ? namespace : '', name });
}
