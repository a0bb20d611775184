import { badRequest } from '../../../meta/status-error.ts';
import type { asPod } from './pod-schema.ts';

type Pod = ReturnType<typeof asPod>;

/**
 * The container that is meant: that of the name, which may be an init or ephemeral one, or the only one. Throws BadRequest if
 * there is no such container, or several and none is named.
 */
export function chosenContainer({ metadata, spec }: Pod, chosen: string): string {
  const podName = metadata?.name ?? '';
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
  if (chosen !== '') {
    if (names.includes(chosen)) return chosen;
    throw badRequest(`container ${chosen} is not valid for pod ${podName}`);
  }
  const [only] = containers;
  if (containers.length === 1 && only) return only.name;
  const choice = containers.length === 0 ? '' : `, choose one of: [${names.join(' ')}]`;
  throw badRequest(`a container name must be specified for pod ${podName}${choice}`);
}
