import { badRequest } from '../../meta/status-error.ts';
import { applyPatch } from '../../patch/apply-patch.ts';
import { unknownMembers } from '../../patch/json-patch.ts';
import { type Reply, shownBytes } from '../reply.ts';
import type { RequestBody, VerbRequest } from '../verb.ts';
import { checkUnknown, decodeObject, duplicateFields } from '../write/decode-body.ts';
import type { ObjectWriter, UpdateView } from '../write/object-writer.ts';
import { parseWriteOptions } from '../write/write-options.ts';
import { apply } from './apply.ts';
import { placeInNamespace, writeContext } from './create.ts';
import { checkName, checkPreconditions } from './update.ts';

/**
 * PATCH of an object, or of one of its views (spec section 4.6): the patch is applied to what is stored, and the result
 * goes the way of an update. A lost race applies it again to the newer state. A patch that sets another
 * resourceVersion than the object's is refused: it means another state.
 */
export async function patch(writer: ObjectWriter, request: VerbRequest, view?: UpdateView): Promise<Reply> {
  const { served, info, body } = request;
  if (body?.patch === undefined) throw badRequest('a patch is expected in the body of the request');
  const { patch: type, value } = body;
  if (type === 'apply') return apply(writer, request, body, view);
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const misread = problemsOf(body);
  const context = writeContext(request, options);
  const written = await writer.change(context, info.name, (stored) => {
    const patched = applyPatch({
      type,
      schema: served.kind.schema,
      original: served.shown(stored.object),
      patch: value,
    });
    const object = decodeObject(patched, served.kind, (fields) =>
      checkUnknown(request, options, [...misread, ...fields]),
    );
    placeInNamespace(object, request);
    checkName(object, info.name);
    checkPreconditions(request, object, stored);
    delete object.metadata.resourceVersion;
    return writer.prepareUpdate(context, object, stored, view ?? served.kind.strategy);
  });
  return { type: 'object', status: 200, served, bytes: shownBytes(served, written.bytes) };
}

/** What field validation says of the patch itself, beside the fields of the patched object. */
function problemsOf({ patch: type, value, duplicates }: RequestBody): readonly string[] {
  const unknown = type === 'json' && Array.isArray(value) ? unknownMembers(value) : [];
  return [...duplicateFields(duplicates), ...unknown.map((path) => `json patch unknown field "${path}"`)];
}
