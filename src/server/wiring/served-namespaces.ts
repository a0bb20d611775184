import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

/** Namespaces, the one resource that every server needs. */
export function servedNamespaces(resources: ResourceRegistry): ServedResource {
  const served = resources.find('', 'v1', 'namespaces');
  if (!served) throw new Error('namespaces are not served');
  return served;
}
