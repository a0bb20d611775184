import { expired } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';
import type { RegistryParts } from '../verb.ts';

/**
 * Rejects reads at a revision at which the namespace of this name was a different one: rights in the present namespace
 * do not cover its predecessor. Reads across namespaces are not restricted, since their rights cover all namespaces.
 */
export async function refuseFormerNamespace(
  parts: Pick<RegistryParts, 'isSameNamespace'>,
  { kind }: ServedResource,
  namespace: string,
  at: Revision,
): Promise<void> {
  if (kind.scope === 'Cluster' || namespace === '') return;
  if (await parts.isSameNamespace(namespace, at)) return;
  throw expired(`The resourceVersion for the provided request is too old: ${at}: the namespace was created after it`);
}
