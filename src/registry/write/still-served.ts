import { noSuchPath } from '../../meta/status-error.ts';
import type { ConversionCaller } from '../../resources/custom-versions.ts';
import { inStoredVersion, type Resource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { checkCreation } from './check-creation.ts';

export interface PreparedValue {
  readonly operation: 'create' | 'update';
  /** The resource that the request found when it began. */
  readonly resource: Resource;
  /** To be stored, in the storage version of that resource. */
  readonly value: Buffer;
  readonly caller: ConversionCaller;
}

/**
 * The value to store now. Requests may wait for long, for webhooks for example, while the definition of their kind changes. An
 * object must not be left behind in the store by a kind that is gone (404) or is being removed (405 for new objects), nor in
 * a version that its definition has given up. As in kube-apiserver, it is not validated again.
 */
export function stillServed(
  resources: Pick<ResourceRegistry, 'current'>,
  { operation, resource, value, caller }: PreparedValue,
): Buffer | Promise<Buffer> {
  if (resource.builtIn) return value;
  const current = resources.current(resource);
  if (current === resource) return value;
  if (!current) throw noSuchPath();
  if (operation === 'create') checkCreation(current);
  if (current.kind.version === resource.kind.version) return value;
  const converted = inStoredVersion(current, value, caller);
  const again = (next: Buffer) => stillServed(resources, { operation, resource: current, value: next, caller });
  return converted instanceof Promise ? converted.then(again) : converted;
}
