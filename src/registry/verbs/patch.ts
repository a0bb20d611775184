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
import { checkName, checkVersion, requireSameUid } from './update.ts';

/**
 * PATCH of an object or a view of it (spec section 4.6): applies the patch to the stored object and continues like an
 * update. After a lost race the patch is applied again to the newer state. A patch that sets a resourceVersion other
 * than the stored one is a conflict.
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
      original: served.fromWritten(stored.object),
      patch: value,
    });
    const object = decodeObject(patched, served.kind, (fields) =>
      checkUnknown(request, options, [...misread, ...fields]),
    );
    placeInNamespace(object, request);
    checkName(object, info.name);
    checkVersion(request, object, stored);
    requireSameUid(request, object, stored);
    return writer.prepareUpdate(context, object, stored, view ?? served.kind.strategy);
  });
  return { type: 'object', status: 200, served, bytes: shownBytes(served, written.bytes) };
}

/** Field validation problems of the patch document, in addition to those of the patched object. */
export function problemsOf({ patch: type, value, duplicates }: RequestBody): readonly string[] {
  const unknown = type === 'json' && Array.isArray(value) ? unknownMembers(value) : [];
  const twice = duplicateFields(duplicates);
  return [
    ...(type === 'json' ? twice.map((problem) => `json patch ${problem}`) : twice),
    ...unknown.map((path) => `json patch unknown field ${JSON.stringify(path)}`),
  ];
}
