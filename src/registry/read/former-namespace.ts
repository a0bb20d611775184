import { expired } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';
import type { RegistryParts } from '../verb.ts';

/**
 * Refuses to read a past state of a namespace that was another one then: what a former namespace of the name held is none of
 * the business of who has rights in this one. Across namespaces nothing is refused: those rights are for all of them.
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
