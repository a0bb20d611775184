import type { ActionSubresource, ActionTarget } from '../kinds/kind.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { badRequest, invalidObject } from '../meta/status-error.ts';
import { validate } from '../schema/validate.ts';
import { writeContext } from './create.ts';
import { decodeBody } from './decode-body.ts';
import { remove } from './delete.ts';
import { parseDeleteOptions } from './delete-options.ts';
import type { ObjectWriter, WriteContext } from './object-writer.ts';
import type { Reply } from './reply.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';

/** POST to a subresource that has a body of its own kind: a binding, an eviction, a token request. */
export async function act(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  action: ActionSubresource,
): Promise<Reply> {
  const { info } = request;
  const body = decodeBody(request, action.body);
  if (body.metadata?.name !== undefined && body.metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${body.metadata.name}) does not match the name on the URL (${info.name})`,
    );
  }
  const errors = validate(action.body.schema, body);
  if (errors.length > 0) throw invalidObject(action.body, info.name, errors);
  const context = writeContext(request, writer.dialect);
  const answer = await action.create(
    body,
    target(parts, writer, request, context),
    writer.strategyContext(request.user),
  );
  return { type: 'object', status: 201, served: undefined, bytes: Buffer.from(JSON.stringify(answer)) };
}

function target(parts: RegistryParts, writer: ObjectWriter, request: VerbRequest, context: WriteContext): ActionTarget {
  const { info } = request;
  return {
    namespace: info.namespace,
    name: info.name,
    update: async (change) => {
      const written = await writer.change(context, info.name, async (stored) => {
        const object: ApiObject = structuredClone(stored.object);
        delete object.metadata.resourceVersion;
        change(object);
        return writer.prepareUpdate(context, object, stored, {});
      });
      return written.object;
    },
    delete: async (options) => {
      const withOptions: VerbRequest = { ...request, body: { value: options, duplicates: [] } };
      const parsed = parseDeleteOptions(withOptions, parts.dialect.group('meta'));
      await remove(writer, { ...context, dryRun: context.dryRun || parsed.dryRun }, info.name, parsed);
    },
  };
}
