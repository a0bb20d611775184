import { stringifyJson } from '../../../codec/json.ts';
import { type BodyForm, parseBody, saysOtherKind } from '../../../content/body.ts';
import { badRequest } from '../../../meta/status-error.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import { isRecord } from '../../../schema/own-property.ts';

interface BodyOptions {
  readonly form: BodyForm;
  readonly info: ResourceRequest;
  readonly served: Pick<ServedResource, 'kind'>;
  readonly omitManagedFields: boolean;
}

/**
 * A body of any format as compact JSON, without defaults. Throws if it is not valid, or of another kind: whoever may see what
 * was sent to a path need not be allowed to see a Secret.
 */
export function bodyAsJson(bytes: Uint8Array, { form, info, served, omitManagedFields }: BodyOptions): Buffer {
  const value = parseBody(bytes, form, { info, served })?.value;
  if (form.type === 'whole' && saysOtherKind(value, { info, served }))
    throw badRequest('the object is of another kind');
  if (omitManagedFields && isRecord(value) && isRecord(value['metadata'])) delete value['metadata']['managedFields'];
  return Buffer.from(stringifyJson(value));
}
