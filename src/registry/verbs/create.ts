import type { ApiObject } from '../../meta/api-object.ts';
import { badRequest } from '../../meta/status-error.ts';
import { type Reply, shownBytes } from '../reply.ts';
import type { VerbRequest } from '../verb.ts';
import { decodeBody } from '../write/decode-body.ts';
import { dedupOwnerReferences } from '../write/dedup-owner-references.ts';
import type { ObjectWriter, WriteContext } from '../write/object-writer.ts';
import { parseWriteOptions, type WriteOptions } from '../write/write-options.ts';

/** POST to a collection. */
export async function create(writer: ObjectWriter, request: VerbRequest): Promise<Reply> {
  const { served } = request;
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const object = decodeBody(request, served.kind, options);
  if (object.metadata.resourceVersion !== undefined) {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  placeInNamespace(object, request);
  dedupOwnerReferences(object, 'client', request);
  const written = await writer.create(writeContext(request, options), object);
  return { type: 'object', status: 201, served, bytes: shownBytes(served, written.bytes) };
}

/** The parts of a request that the write path needs. */
export const writeContext = (
  request: VerbRequest,
  { manager, dryRun, sent }: Pick<WriteOptions, 'manager' | 'dryRun' | 'sent'>,
  ownership: WriteContext['ownership'] = 'tracked',
): WriteContext => ({
  served: request.served,
  info: request.info,
  user: request.user,
  manager,
  ownership,
  dryRun,
  admission: 'required',
  options: sent,
  request,
  turn: { current: undefined },
});

/**
 * Sets the namespace of the path. A body with another namespace is rejected (CVE-2019-11247). The namespace of a
 * cluster-scoped object is cleared, as in kube-apiserver.
 */
export function placeInNamespace({ metadata }: Pick<ApiObject, 'metadata'>, { info, served }: VerbRequest): void {
  if (served.kind.scope === 'Cluster') {
    delete metadata.namespace;
    return;
  }
  const named = metadata.namespace ?? '';
  if (named !== '' && named !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = info.namespace;
}
