import { untilAborted } from '../../base/time/until-aborted.ts';
import { stringifyJson } from '../../codec/json.ts';
import { components } from '../../dialect/components.ts';
import type { ActionSubresource, ActionTarget, RelatedResource } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { badRequest, notFound, type Status } from '../../meta/status-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { freshObject, freshObjects, storedResource } from '../read/fresh-object.ts';
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

interface Act {
  readonly action: ActionSubresource;
  /** The resource of the object that the body names; undefined if the path names the object. */
  readonly on: ServedResource | undefined;
}

/**
 * POST of a body that acts on an object: to a subresource of it (binding, eviction, token request), or to the
 * collection of the body's own kind.
 */
export async function act(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  { action, on }: Act,
): Promise<Reply> {
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const body = decodeBody(request, action.body, options);
  placeInNamespace(body, request);
  const write = writeContext(request, options);
  const context = answerContext(parts, writer, request);
  const name = on ? body.metadata.name : request.info.name;
  if (name === undefined) throw badRequest(`a ${action.body.kind} must have the name of what it is for`);
  const target = targetOf(parts, writer, request, {
    ...write,
    ...(on && { served: on, info: { ...write.info, resource: on.name.resource, name, subresource: action.name } }),
    admission: 'done',
    // As published, nobody owns what an action does to its object: binding a pod leaves its managed fields as they are.
    ownership: 'applied',
  });
  await admitUnstored(parts, write, {
    kind: action.body,
    object: body,
    name,
    keepsServerMetadata: action.keepsServerMetadata ?? false,
    prepare: () => action.prepare?.(body, target, context),
    validate: () => action.validate?.(body) ?? [],
  });
  // An abort does not wait for writes in progress either: the client already has its response.
  const answer = await untilAborted(action.create(body, target, context), request.signal);
  if (isStatus(answer)) return { type: 'status', status: answer.code === 500 ? 500 : 201, body: answer };
  return { type: 'object', status: 201, served: undefined, bytes: Buffer.from(stringifyJson(answer)) };
}

const isStatus = (answer: ApiObject | Status): answer is Status => answer.kind === 'Status';

function targetOf(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  context: WriteContext,
): ActionTarget {
  const { info, served } = context;
  const { signal, owner } = request;
  const relatedContext = (of: RelatedResource, name: string): WriteContext => ({
    ...context,
    served: storedResource(parts.resources, of),
    info: { ...info, ...of, name, subresource: 'status' },
    manager: components(parts.dialect).apiServer,
    ownership: 'tracked',
    turn: { current: undefined },
  });
  return {
    namespace: info.namespace,
    name: info.name,
    dryRun: context.dryRun,
    read: async () => {
      const found = await freshObject(served, { ...info, signal });
      if (!found) throw notFound(served.name, info.name);
      return found;
    },
    update: (change) => updated(writer, context, change),
    delete: async (options) => {
      const parsed = deleteOptionsOf(options, parts.dialect.group('meta'));
      await remove(writer, { ...context, dryRun: context.dryRun || parsed.dryRun }, info.name, parsed);
    },
    related: (of, holds) =>
      freshObjects(parts, storedResource(parts.resources, of), { namespace: info.namespace, holds, signal, owner }),
    updateStatus: async (of, name, change, { dryRun }) => {
      const related = relatedContext(of, name);
      await updated(writer, { ...related, dryRun: related.dryRun || dryRun }, change);
    },
  };
}

/** The object after the change, which is made again from the newer state when another write came first. */
async function updated(
  writer: ObjectWriter,
  context: WriteContext,
  change: (object: ApiObject, resourceVersion: string) => void,
): Promise<ApiObject> {
  const written = await writer.change(context, context.info.name, async (stored) => {
    const object: ApiObject = cloneJson(stored.object);
    change(object, String(stored.revision));
    return writer.prepareUpdate(context, object, stored, {});
  });
  return written.object;
}
