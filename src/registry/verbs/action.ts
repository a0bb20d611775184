import { stringifyJson } from '../../codec/json.ts';
import type { ActionSubresource, ActionTarget } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { notFound } from '../../meta/status-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { freshObject } from '../read/fresh-object.ts';
import type { Reply } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { admitUnstored } from '../write/admit-unstored.ts';
import { decodeBody } from '../write/decode-body.ts';
import { deleteOptionsOf } from '../write/delete-options.ts';
import type { ObjectWriter, WriteContext } from '../write/object-writer.ts';
import { parseWriteOptions } from '../write/write-options.ts';
import { answerContext } from './answer.ts';
import { placeInNamespace, writeContext } from './create.ts';
import { remove } from './delete.ts';

/** POST to a subresource that has a body of its own kind: a binding, an eviction, a token request. */
export async function act(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  action: ActionSubresource,
): Promise<Reply> {
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const body = decodeBody(request, action.body, options);
  placeInNamespace(body, request);
  const asked = writeContext(request, options);
  const context = answerContext(parts, writer, request);
  const target = targetOf(parts, writer, request, { ...asked, admission: 'done' });
  await admitUnstored(parts, asked, {
    kind: action.body,
    object: body,
    name: request.info.name,
    keepsServerMetadata: action.keepsServerMetadata ?? false,
    prepare: () => action.prepare?.(body, target, context),
    validate: () => action.validate?.(body) ?? [],
  });
  const answer = await action.create(body, target, context);
  return { type: 'object', status: 201, served: undefined, bytes: Buffer.from(stringifyJson(answer)) };
}

function targetOf(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  context: WriteContext,
): ActionTarget {
  const { info, served, signal } = request;
  return {
    namespace: info.namespace,
    name: info.name,
    read: async () => {
      const found = await freshObject(parts.cache, served, { ...info, signal });
      if (!found) throw notFound(served.name, info.name);
      return found;
    },
    update: async (change) => {
      const written = await writer.change(context, info.name, async (stored) => {
        const object: ApiObject = cloneJson(stored.object);
        delete object.metadata.resourceVersion;
        change(object);
        return writer.prepareUpdate(context, object, stored, {});
      });
      return written.object;
    },
    delete: async (options) => {
      const parsed = deleteOptionsOf(options, parts.dialect.group('meta'));
      await remove(writer, { ...context, dryRun: context.dryRun || parsed.dryRun }, info.name, parsed);
    },
  };
}
