import type { ApiObject } from '../meta/api-object.ts';
import { conflict, type Status } from '../meta/status-error.ts';
import { formatTime, parseTime } from '../schema/time.ts';
import { writeContext } from './create.ts';
import { type DeleteOptions, parseDeleteOptions } from './delete-options.ts';
import {
  type ObjectWriter,
  pendingFinalizers,
  type Step,
  type Stored,
  type WriteContext,
  type Written,
} from './object-writer.ts';
import type { Reply } from './reply.ts';
import type { ServedResource } from './resource-registry.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';

/** DELETE of one object (spec section 3.2): removed at once, or marked when something holds it. */
export async function deleteObject(parts: RegistryParts, writer: ObjectWriter, request: VerbRequest): Promise<Reply> {
  const { served, info } = request;
  const options = parseDeleteOptions(request, parts.dialect.group('meta'));
  const written = await remove(writer, writeContext(request, options.dryRun), info.name, options);
  if (served.kind.deleteReturnsObject || written.type === 'stored') {
    return { type: 'object', status: 200, served, bytes: written.bytes };
  }
  return { type: 'status', status: 200, body: removedStatus(served, written.object) };
}

/** Deletes an object by its name, as far as finalizers and its grace period allow. */
export async function remove(
  writer: ObjectWriter,
  context: WriteContext,
  name: string,
  options: DeleteOptions,
): Promise<Written> {
  return writer.change(context, name, async (stored) => {
    checkPreconditions(context.served, stored, options);
    await writer.admitDelete(context, stored.object);
    return nextStep(writer, context, stored, options);
  });
}

function checkPreconditions(
  served: ServedResource,
  { object, revision }: Stored,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions;
  const name = object.metadata.name ?? '';
  if (uid !== undefined && uid !== object.metadata.uid) {
    throw conflict(
      served.name,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== String(revision)) {
    throw conflict(
      served.name,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${revision}`,
    );
  }
}

function nextStep(writer: ObjectWriter, context: WriteContext, stored: Stored, options: DeleteOptions): Step {
  const { served } = context;
  const { strategy } = served.kind;
  const requested = options.gracePeriodSeconds === -1 ? 1 : options.gracePeriodSeconds;
  const graceSeconds = Math.max(strategy.gracePeriodSeconds?.(stored.object, requested) ?? 0, 0);
  if (graceSeconds === 0 && pendingFinalizers(served, stored.object).length === 0) return { type: 'remove' };
  return mark(writer, context, stored, graceSeconds);
}

/** Sets the deletion timestamp. A second deletion may only bring it nearer. */
function mark(writer: ObjectWriter, context: WriteContext, stored: Stored, graceSeconds: number): Step {
  const { metadata: old } = stored.object;
  const strategyContext = writer.strategyContext(context.user);
  const markedMs = old.deletionTimestamp === undefined ? undefined : parseTime(old.deletionTimestamp);
  const oldGraceSeconds = old.deletionGracePeriodSeconds ?? 0;
  if (markedMs !== undefined && graceSeconds >= oldGraceSeconds) return { type: 'keep' };
  const startMs = markedMs === undefined ? strategyContext.now : markedMs - oldGraceSeconds * 1000;
  const object = structuredClone(stored.object);
  object.metadata.deletionTimestamp = formatTime(startMs + graceSeconds * 1000);
  object.metadata.deletionGracePeriodSeconds = graceSeconds;
  if (object.metadata.generation !== undefined) object.metadata.generation += 1;
  context.served.kind.strategy.prepareForDelete?.(object, strategyContext);
  return { type: 'put', object };
}

/** What published servers answer when an object is gone. */
function removedStatus({ name: { group, resource } }: ServedResource, { metadata }: ApiObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      ...(metadata.name !== undefined && { name: metadata.name }),
      ...(group !== '' && { group }),
      kind: resource,
      ...(metadata.uid !== undefined && { uid: metadata.uid }),
    },
  };
}
