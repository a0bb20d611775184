import { encodeObject } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { CachedResource } from './cache.ts';
import { objectCodec } from './entries/entry-codec.ts';

/** The values that field selectors see in an object, by label. */
export function selectedFields(
  { selectableFields }: Pick<CachedResource, 'selectableFields'>,
  object: ApiObject,
): Readonly<Record<string, string | undefined>> {
  const codec = objectCodec({ prefix: '/x/', namespaced: false, selectableFields });
  const entry = codec.decode({ key: '/x/one', value: encodeObject(object), revision: 1 });
  return Object.fromEntries(selectableFields.map(({ label }) => [label, entry.field(label)]));
}
