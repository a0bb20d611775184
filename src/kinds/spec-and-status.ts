import type { ApiObject } from '../meta/api-object.ts';
import { cloneJson } from '../patch/json-value.ts';
import { decode } from '../schema/decode.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Strategy, ViewSubresource } from './kind.ts';

/** `prepareForCreate` of kinds whose status only its subresource writes: a new object has an empty one. */
export const withEmptyStatus =
  (status: StructSchema): NonNullable<Strategy['prepareForCreate']> =>
  (object) => {
    object['status'] = decode(status, {}).value;
  };

/** The subresource `status` of kinds whose other part is `spec`. As published, it may change metadata as well. */
export const statusView = (validateUpdate?: ViewSubresource['validateUpdate']): ViewSubresource => ({
  type: 'view',
  name: 'status',
  verbs: ['get', 'update', 'patch'],
  prepareForUpdate: (object: ApiObject, old: ApiObject) => {
    object['spec'] = cloneJson(old['spec']);
  },
  ...(validateUpdate && { validateUpdate }),
});
