import { encodeObject } from '../../codec/json.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { StoreError } from '../../store/store.ts';
import type { RegistryParts } from '../verb.ts';
import { type CompletingParts, completeObject, type NewInitialObject } from './complete-object.ts';
import { encodedByForm, type InitialForms } from './initial-forms.ts';

export interface InitialObject extends NewInitialObject {
  readonly served: ServedResource;
}

/**
 * Creates an object that is part of the program, as a request of the server would, but without the request, admission and
 * validation: there are more than a hundred at the first start of a store, and a test holds that the result is the same.
 * Only for a server without webhooks, policies and audit. False if it was not written: it is there, its kind needs
 * more than this, or the store refuses; a request then says why. `forms`: those that the product was built with.
 */
export async function createInitial(
  parts: CompletingParts & Pick<RegistryParts, 'store'>,
  initial: InitialObject,
  forms: InitialForms | undefined,
): Promise<boolean> {
  const { served, object } = initial;
  if (!isPlain(served)) return false;
  const key = served.objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
  const built = forms && encodedByForm(forms, parts, initial);
  try {
    await parts.store.create(key, built ?? encodeObject(completeObject(parts, initial)));
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}

/** Whether objects of a kind are stored as they are written, and claim nothing that others could have. */
const isPlain = ({ kind, written, resource }: ServedResource): boolean =>
  resource.builtIn && kind === written && kind === resource.kind && !kind.claims && !kind.strategy.allocate;
