import { type ApiClient, hasReason } from './api-client.ts';

/** A resource from discovery. */
export interface DiscoveredResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** `/api/v1` or `/apis/<group>/<version>`. */
  readonly root: string;
}

interface GroupListDocument {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
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

interface Discovered {
  readonly resources: readonly DiscoveredResource[];
  readonly failures: readonly DiscoveryFailure[];
}

/**
 * All resources served now, in the preferred version of their group, without subresources. A failing group does not affect the
 * others. Rejects if the list of groups cannot be read.
 */
export async function discoverResources(client: ApiClient, signal: AbortSignal): Promise<Discovered> {
  const { groups } = await client.get<GroupListDocument>('/apis', signal);
  return discoverVersions(
    client,
    ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)],
    signal,
  );
}

/** Like `discoverResources`, for some groups only; '' is the core group. A group that is not served has no resources. */
export async function discoverGroups(
  client: ApiClient,
  groups: Iterable<string>,
  signal: AbortSignal,
): Promise<Discovered> {
  const versions: string[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const group of groups) {
    try {
      versions.push(group === '' ? 'v1' : await preferredVersionOf(client, group, signal));
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

async function preferredVersionOf(client: ApiClient, group: string, signal: AbortSignal): Promise<string> {
  const { preferredVersion } = await client.get<GroupListDocument['groups'][number]>(
    `/apis/${encodeURIComponent(group)}`,
    signal,
  );
  return preferredVersion.groupVersion;
}

async function discoverVersions(
  client: ApiClient,
  versions: readonly string[],
  signal: AbortSignal,
): Promise<Discovered> {
  const resources: DiscoveredResource[] = [];
  const failures: DiscoveryFailure[] = [];
  for (const groupVersion of versions) {
    if (groupVersion.split('/').length > 2 || groupVersion === '') {
      failures.push({ groupVersion, type: 'malformed', message: `unexpected GroupVersion string: ${groupVersion}` });
      continue;
    }
    try {
      resources.push(...(await resourcesOf(client, groupVersion, signal)));
    } catch (error) {
      signal.throwIfAborted();
      const message = error instanceof Error ? error.message : String(error);
      failures.push({ groupVersion, type: 'unavailable', message });
    }
  }
  return { resources, failures };
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
      root,
    }));
}

/** The path of a collection, or of an object in it. */
export function pathOf({ root, resource, namespaced }: DiscoveredResource, namespace: string, name?: string): string {
  const scope = namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${resource}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}
