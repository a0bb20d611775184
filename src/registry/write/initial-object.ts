import { updateManagedFields } from '../../apply/apply.ts';
import { encodeObject } from '../../codec/json.ts';
import type { StrategyContext } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { dropDisabledFields } from '../../schema/feature-gates.ts';
import { StoreError } from '../../store/store.ts';
import type { RegistryParts } from '../verb.ts';
import { decodeObject } from './decode-body.ts';
import { clearServerMetadata, dropSubresourceFields, setNewMetadata, startGeneration } from './server-metadata.ts';
import { writeSource } from './track-managed-fields.ts';

export interface InitialObject {
  readonly served: ServedResource;
  /** With its name, and its namespace if it has one. */
  readonly object: ApiObject;
  readonly user: UserInfo;
  readonly manager: string;
}

/**
 * Creates an object that is part of the program, as a request of the server would, but without the request, admission and
 * validation: there are more than a hundred at the first start of a store, and a test holds that the result is the same.
 * Only for a server without webhooks, policies and audit. False if it was not written: it is there, its kind needs
 * more than this, or the store refuses; a request then says why.
 */
export async function createInitial(parts: RegistryParts, initial: InitialObject): Promise<boolean> {
  const { served, object } = initial;
  if (!isPlain(served)) return false;
  const key = served.objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
  try {
    await parts.store.create(key, encodeObject(completeObject(parts, initial)));
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}

/** Whether objects of a kind are stored as they are written, and claim nothing that others could have. */
const isPlain = ({ kind, written, resource }: ServedResource): boolean =>
  resource.builtIn && kind === written && kind === resource.kind && !kind.claims && !kind.strategy.allocate;

/** The object as it is to be stored: the stages of `ObjectWriter.create`, in its order. */
export function completeObject(
  { dialect, clock, random, features }: Pick<RegistryParts, 'dialect' | 'clock' | 'random' | 'features'>,
  { served, object: given, user, manager }: InitialObject,
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
