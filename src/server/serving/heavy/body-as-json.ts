import { stringifyJson } from '../../../codec/json.ts';
import { type BodyForm, parseBody } from '../../../content/body.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import { isRecord } from '../../../schema/own-property.ts';

interface BodyOptions {
  readonly form: BodyForm;
  readonly info: ResourceRequest;
  readonly served: Pick<ServedResource, 'kind'>;
  readonly omitManagedFields: boolean;
}

/** A body of any format as compact JSON, without defaults. Throws if it is not valid. */
export function bodyAsJson(bytes: Uint8Array, { form, info, served, omitManagedFields }: BodyOptions): Buffer {
  const value = parseBody(bytes, form, { info, served })?.value;
  if (omitManagedFields && isRecord(value) && isRecord(value['metadata'])) delete value['metadata']['managedFields'];
  return Buffer.from(stringifyJson(value));
}
