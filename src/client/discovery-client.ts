import type { ApiClient } from './api-client.ts';

/** A resource as discovery names it. */
export interface DiscoveredResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** `/api/v1`, `/apis/<group>/<version>`. */
  readonly root: string;
}

interface GroupListDocument {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
}

interface ResourceListDocument {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/** Every resource that is served now, in the preferred version of its group; subresources are left out. */
export async function discoverResources(
  client: ApiClient,
  signal: AbortSignal,
): Promise<readonly DiscoveredResource[]> {
  const { groups } = await client.get<GroupListDocument>('/apis', signal);
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const found: DiscoveredResource[] = [];
  for (const root of roots) {
    const { groupVersion, resources } = await client.get<ResourceListDocument>(root, signal);
    for (const { name, kind, namespaced, verbs } of resources) {
      if (!name.includes('/')) found.push({ apiVersion: groupVersion, kind, resource: name, namespaced, verbs, root });
    }
  }
  return found;
}

/** The path of a collection, or of one object of it. */
export function pathOf({ root, resource, namespaced }: DiscoveredResource, namespace: string, name?: string): string {
  const scope = namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${resource}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}
