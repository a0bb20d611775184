import { updateManagedFields } from '../../apply/apply.ts';
import type { StrategyContext } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { dropDisabledFields } from '../../schema/feature-gates.ts';
import type { RegistryParts } from '../verb.ts';
import { decodeObject } from './decode-body.ts';
import { clearServerMetadata, dropSubresourceFields, setNewMetadata, startGeneration } from './server-metadata.ts';
import { writeSource } from './track-managed-fields.ts';

/** What an initial object is made from. */
export interface NewInitialObject {
  readonly served: Pick<ServedResource, 'kind' | 'apiVersion'>;
  /** With its name, and its namespace if it has one. */
  readonly object: ApiObject;
  readonly user: UserInfo;
  readonly manager: string;
}

/** What an object is made with. */
export interface CompletingParts extends Pick<RegistryParts, 'dialect' | 'features' | 'random'> {
  readonly clock: Pick<RegistryParts['clock'], 'now'>;
}

/** The object as it is to be stored: the stages of `ObjectWriter.create`, in its order. */
export function completeObject(
  { dialect, clock, random, features }: CompletingParts,
  { served, object: given, user, manager }: NewInitialObject,
): ApiObject {
  const { kind } = served;
  const context: StrategyContext = { dialect, user, now: clock.now(), requested: kind };
  const object = decodeObject(given, kind, () => {});
  clearServerMetadata(object);
  startGeneration(kind, object);
  kind.strategy.default?.(object, context);
  dropDisabledFields(kind.schema, object, undefined, features);
  const source = writeSource({ served, manager, info: { subresource: '' } }, context.now, undefined);
  updateManagedFields({ ...source, object, old: undefined });
  dropSubresourceFields(kind, object);
  kind.strategy.prepareForCreate?.(object, context);
  setNewMetadata(object, kind, { clock, random });
  if (kind.strategy.completeNew) {
    kind.strategy.completeNew(object, context);
    kind.strategy.default?.(object, context);
  }
  return object;
}
