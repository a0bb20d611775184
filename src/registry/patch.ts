import { badRequest } from '../meta/status-error.ts';
import { mergePatch } from '../patch/merge-patch.ts';
import { placeInNamespace, writeContext } from './create.ts';
import { checkUnknown, decodeObject } from './decode-body.ts';
import type { ObjectWriter, UpdateView } from './object-writer.ts';
import type { Reply } from './reply.ts';
import { checkPreconditions, nameFromPath } from './update.ts';
import type { VerbRequest } from './verb.ts';

/**
 * PATCH of an object, or of one of its views (spec section 4.6): the patch is applied to what is stored, and the result
 * goes the way of an update. A lost race applies it again to the newer state, unless the patch names a resourceVersion.
 */
export async function patch(writer: ObjectWriter, request: VerbRequest, view?: UpdateView): Promise<Reply> {
  const { served, info, body } = request;
  if (typeof body?.value !== 'object' || body.value === null || Array.isArray(body.value)) {
    throw badRequest('the patch must be a JSON object');
  }
  const change = body.value;
  const context = writeContext(request);
  const written = await writer.change(context, info.name, (stored) => {
    const { resourceVersion: _, ...metadata } = stored.object.metadata;
    const patched = mergePatch({ ...stored.object, metadata }, change) as Record<string, unknown>;
    const object = decodeObject(patched, served.kind, (fields) => checkUnknown(request, fields));
    placeInNamespace(object, request);
    nameFromPath(object, info.name);
    if (object.metadata.resourceVersion !== undefined) checkPreconditions(request, object, stored);
    delete object.metadata.resourceVersion;
    return writer.prepareUpdate(context, object, stored, view ?? served.kind.strategy);
  });
  return { type: 'object', status: 200, served, bytes: written.bytes };
}
