import type { Registry } from '../../registry/registry.ts';
import type { Resource } from '../../resources/resource.ts';
import { serverUser } from '../upkeep/bootstrap.ts';

/** Deletes the objects of a resource in one namespace; '' if it has none. Resolves when all deletions are accepted. */
export type RemoveObjects = (resource: Resource, namespace: string, signal: AbortSignal) => Promise<void>;

/**
 * Removal below the routes: of all versions, the stored one is always there, whether clients are served in it or not. As in
 * kube-apiserver, nobody is asked for permission.
 */
export const removalBy =
  (registry: Registry): RemoveObjects =>
  async ({ stored }, namespace, signal) => {
    const { group, version, resource } = stored.kind;
    await registry.serve({
      info: {
        ...{ type: 'resource', verb: 'deletecollection', path: `/apis/${group}/${version}/${resource}` },
        ...{ group, version, resource, namespace, name: '', subresource: '' },
        query: new URLSearchParams(),
        inNamespace: namespace !== '',
      },
      ...{ served: stored, user: serverUser, userAgent: 'orch', body: undefined },
      // Admission tells requests apart by their signals.
      signal: AbortSignal.any([signal]),
      warn() {},
      annotate: () => undefined,
      beforeWrite() {},
    });
  };
