import { updateManagedFields } from '../../apply/apply.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { allErrors, type Validation } from '../../kinds/validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { invalidObject } from '../../meta/status-error.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { validate } from '../../schema/validate.ts';
import type { RegistryParts } from '../verb.ts';
import { admissionAttributes } from './admission-attributes.ts';
import { identityOf, keepIdentity } from './kept-identity.ts';
import type { WriteContext } from './object-writer.ts';
import { clearServerMetadata } from './server-metadata.ts';

/** A request object that is not stored, only answered. Decoded, with schema defaults applied. */
interface UnstoredObject {
  readonly kind: GroupVersionKind & { readonly schema: StructSchema };
  /** Modified in place. */
  readonly object: ApiObject;
  /** Name shown to admission plugins. */
  readonly name: string;
  /** Whether server-set metadata in the body is meaningful and kept. */
  readonly keepsServerMetadata: boolean;
  /** Runs before admission, and again if admission replaced the object. */
  readonly fill?: (object: ApiObject) => void;
  /** Runs between mutating admission and validation. */
  readonly prepare?: () => Promise<void> | void;
  readonly validate?: () => Validation | undefined;
  readonly warnings?: () => readonly string[];
}

/**
 * Runs an unstored object through the stages before its response, in kube-apiserver's order: clear server-set fields,
 * managed fields, mutating admission, validation, validating admission. Metadata is not validated, since it will name
 * no object.
 */
export async function admitUnstored(parts: RegistryParts, context: WriteContext, body: UnstoredObject): Promise<void> {
  const { kind, object, name } = body;
  if (!body.keepsServerMetadata) clearServerMetadata(object);
  body.fill?.(object);
  updateManagedFields({
    schema: kind.schema,
    apiVersion: apiVersionOf(kind),
    manager: context.manager,
    subresource: context.info.subresource,
    nowMs: parts.clock.now(),
    object,
    old: undefined,
  });
  const fill = body.fill && ((made: ApiObject) => body.fill?.(made));
  const attributes = admissionAttributes(parts, context, {
    operation: 'create',
    kind,
    name,
    object,
    old: undefined,
    fill,
  });
  const identity = identityOf(object);
  await parts.admission.mutate(attributes);
  if (attributes.replacements > 0) {
    keepIdentity(object, identity, { of: 'new', request: context.request });
    if (!body.keepsServerMetadata) clearServerMetadata(object);
  }
  const preparing = body.prepare?.();
  if (preparing) await untilAborted(preparing, context.request.signal);
  const validating = allErrors(validate(kind.schema, object), body.validate?.());
  const errors = validating instanceof Promise ? await untilAborted(validating, context.request.signal) : validating;
  if (errors.length > 0) throw invalidObject(kind, '', errors);
  for (const warning of body.warnings?.() ?? []) context.request.warn(warning);
  await parts.admission.validate(attributes);
}
