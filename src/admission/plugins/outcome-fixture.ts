import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import type { AdmissionPlugin } from '../chain.ts';

export type Write = NonNullable<Parameters<typeof attributesOf>[0]>;

/**
 * Test support: what a plugin makes of a write: the object, or the reason and text of the refusal. It mutates twice, as if a
 * webhook had changed the object.
 */
export async function outcomeOf(plugin: AdmissionPlugin, write: Write): Promise<ApiObject | string | undefined> {
  const attributes = attributesOf(structuredClone(write));
  try {
    for (let round = 0; round < 2; round++) if (plugin.concerns(attributes)) await plugin.mutate?.(attributes);
    if (plugin.concerns(attributes)) await plugin.validate?.(attributes);
    return attributes.object;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
}

/** Test support: classes of one kind. `later`: as if the store had to be asked. */
export function classesOf(objects: readonly object[], { later = false, first = undefined as object | undefined } = {}) {
  const found = (object: object | undefined) =>
    later ? Promise.resolve(object as ApiObject | undefined) : (object as ApiObject | undefined);
  return {
    named: (name: string) => found(objects.find((each) => (each as ApiObject).metadata.name === name)),
    byDefault: () => found(first),
  };
}
