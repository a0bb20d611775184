import { untilAborted } from '../../base/time/until-aborted.ts';
import type { Strategy } from '../../kinds/kind.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { conflict, forbiddenObject, type Status } from '../../meta/status-error.ts';
import { formatTime, parseTime } from '../../meta/time.ts';
import { cloneJson } from '../../patch/json-value.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { type Reply, shownBytes } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { type DeleteOptions, type PropagationPolicy, parseDeleteOptions } from '../write/delete-options.ts';
import {
  type ObjectWriter,
  pendingFinalizers,
  type Step,
  type WriteContext,
  type Written,
} from '../write/object-writer.ts';
import type { Stored } from '../write/stored-object.ts';
import { clientName } from '../write/track-managed-fields.ts';
import { writeContext } from './create.ts';
import { removeCorrupt } from './unsafe-delete.ts';

/**
 * DELETE of one object (spec section 3.2): removes it, or sets its deletion timestamp if finalizers or a grace period
 * defer the removal.
 */
export async function deleteObject(parts: RegistryParts, writer: ObjectWriter, request: VerbRequest): Promise<Reply> {
  const { served, info } = request;
  const options = parseDeleteOptions(request, parts);
  const { undeletable } = served.kind;
  if (undeletable?.names.includes(info.name)) throw forbiddenObject(served.name, info.name, undeletable.reason);
  warnOfOrphans(request, options);
  if (options.ignoreReadErrors) {
    request.annotate(`${parts.dialect.group('apiserver')}/unsafe-delete-ignore-read-error`, '');
    const asked = parts.requireUnsafeDelete(info, request.user, request);
    if (asked) await untilAborted(asked, request.signal);
  }
  if (options.ignoreReadErrors && (await removeCorrupt(parts, request))) {
    return { type: 'status', status: 200, body: removedStatus(served, { name: info.name }) };
  }
  const written = await remove(writer, deletionContext(request, options), info.name, options);
  if (served.kind.deleteReturnsObject || written.type === 'stored') {
    const status = written.type === 'stored' && options.acceptedWhileHeld ? 202 : 200;
    return { type: 'object', status, served, bytes: shownBytes(served, written.bytes) };
  }
  return { type: 'status', status: 200, body: removedStatus(served, written.object.metadata) };
}

/** DeleteOptions have no field manager, so the manager is the client's name. */
export const deletionContext = (request: VerbRequest, { dryRun, sent }: DeleteOptions): WriteContext =>
  writeContext(request, { manager: clientName(request.userAgent), dryRun, sent });

/** Deletes an object by name, as far as finalizers and the grace period allow. */
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
  // Named by the kind, as in kube-apiserver.
  const { group, kind: resource } = served.kind;
  if (uid !== undefined && uid !== object.metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict({ group, resource }, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== String(revision)) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${revision}). The object might have been modified`;
    throw conflict({ group, resource }, name, why);
  }
}

function nextStep(writer: ObjectWriter, context: WriteContext, stored: Stored, options: DeleteOptions): Step {
  const { served } = context;
  const { strategy } = served.kind;
  const object = cloneJson(stored.object);
  const policy = served.kind.ownsNothing ? undefined : (options.propagationPolicy ?? defaultPolicy(served, object));
  setFinalizers(object, finalizersAfter(object.metadata.finalizers ?? [], policy));
  const graceSeconds = graceSecondsOf(strategy, stored.object, options.gracePeriodSeconds);
  const released = graceSeconds === 0 && pendingFinalizers(served, object).length === 0;
  if (released && !strategy.gracePeriodSeconds) return { type: 'remove' };
  mark(writer, context, object, graceSeconds);
  // An object that could have been given time shows that it has none.
  if (released) return { type: 'remove', object };
  return { type: 'put', object, deletion: true };
}

/**
 * Grace period in seconds. A second deletion can only shorten the period of the first; a negative period means 1
 * second, as in kube-apiserver.
 */
function graceSecondsOf(strategy: Strategy, object: ApiObject, requested: number | undefined): number {
  const period = requested !== undefined && requested < 0 ? 1 : requested;
  const pending = object.metadata.deletionGracePeriodSeconds ?? 0;
  if (object.metadata.deletionTimestamp !== undefined) return Math.min(period ?? pending, pending);
  return Math.max(strategy.gracePeriodSeconds?.(object, period) ?? 0, 0);
}

/** Finalizers that the garbage collector acts on: it orphans or deletes the dependents. */
const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

/** The policy of a deletion that names none: what a finalizer says wins over what the kind says. */
function defaultPolicy(
  { kind }: ServedResource,
  { metadata: { finalizers = [] } }: ApiObject,
): PropagationPolicy | undefined {
  const decided = finalizers.includes(orphanFinalizer) || finalizers.includes(foregroundFinalizer);
  return kind.orphansByDefault && !decided ? 'Orphan' : undefined;
}

/** Tells a client that names no policy what the kind does with dependents, if that may surprise. */
export function warnOfOrphans(request: VerbRequest, { propagationPolicy }: DeleteOptions): void {
  const warning = request.served.kind.orphansByDefault?.warning;
  if (warning !== undefined && propagationPolicy === undefined) request.warn(warning);
}

/**
 * A propagation policy replaces the finalizer that an earlier deletion set; without a policy that finalizer stays.
 *
 *     [x, orphan] and Foreground -> [x, foregroundDeletion]
 *     [x, orphan] and none       -> [x, orphan]
 */
function finalizersAfter(finalizers: readonly string[], policy: PropagationPolicy | undefined): readonly string[] {
  if (policy === undefined) return finalizers;
  const others = finalizers.filter((each) => each !== orphanFinalizer && each !== foregroundFinalizer);
  if (policy === 'Orphan') return [...others, orphanFinalizer];
  return policy === 'Foreground' ? [...others, foregroundFinalizer] : others;
}

function setFinalizers({ metadata }: ApiObject, finalizers: readonly string[]): void {
  if (finalizers.length > 0) metadata.finalizers = [...finalizers];
  else delete metadata.finalizers;
}

/** Sets the deletion timestamp. A second deletion can only move it earlier. */
function mark(writer: ObjectWriter, context: WriteContext, object: ApiObject, graceSeconds: number): void {
  const { metadata } = object;
  const strategyContext = writer.strategyContext(context);
  if (metadata.deletionTimestamp !== undefined) {
    moveEarlier(metadata, metadata.deletionTimestamp, graceSeconds);
    return;
  }
  metadata.deletionTimestamp = formatTime(strategyContext.now + graceSeconds * 1000);
  const { strategy } = context.served.kind;
  if (!strategy.marksDeletionTimeOnly) {
    metadata.deletionGracePeriodSeconds = graceSeconds;
    if (metadata.generation !== undefined) metadata.generation += 1;
  }
  strategy.prepareForDelete?.(object, strategyContext);
}

function moveEarlier(metadata: ObjectMeta, deletionTimestamp: string, graceSeconds: number): void {
  const markedSeconds = metadata.deletionGracePeriodSeconds ?? 0;
  if (graceSeconds >= markedSeconds) return;
  const startMs = (parseTime(deletionTimestamp) ?? 0) - markedSeconds * 1000;
  metadata.deletionTimestamp = formatTime(startMs + graceSeconds * 1000);
  metadata.deletionGracePeriodSeconds = graceSeconds;
}

/** The Status that kube-apiserver returns for a removed object; without metadata, for a removed collection. */
export function removedStatus({ name: { group, resource } }: ServedResource, metadata: ObjectMeta = {}): Status {
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
