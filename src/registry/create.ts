import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { badRequest } from '../meta/status-error.ts';
import { decodeBody, isDryRun } from './decode-body.ts';
import type { ObjectWriter, WriteContext } from './object-writer.ts';
import { fieldManagerOf } from './ownership.ts';
import type { Reply } from './reply.ts';
import type { VerbRequest } from './verb.ts';

/** POST to a collection. */
export async function create(writer: ObjectWriter, request: VerbRequest): Promise<Reply> {
  const { served } = request;
  const object = decodeBody(request, served.kind);
  if (object.metadata.resourceVersion !== undefined) {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  placeInNamespace(object, request);
  const written = await writer.create(writeContext(request, writer.dialect), object);
  return { type: 'object', status: 201, served, bytes: written.bytes };
}

/** What the write path needs of a request. */
export function writeContext(
  request: VerbRequest,
  dialect: Dialect,
  dryRun = isDryRun(request.info.query),
): WriteContext {
  return {
    served: request.served,
    info: request.info,
    user: request.user,
    manager: fieldManagerOf(request, dialect.group('meta')),
    ownership: 'tracked',
    dryRun,
    admission: 'asked',
    warn: (text) => request.warn(text),
  };
}

/** The namespace of the path is the object's; an object that names another one is refused (CVE-2019-11247). */
export function placeInNamespace({ metadata }: Pick<ApiObject, 'metadata'>, { info, served }: VerbRequest): void {
  const named = metadata.namespace ?? '';
  if (served.kind.scope === 'Cluster') {
    if (named !== '') throw badRequest('namespace is not allowed on this type: it is cluster-scoped');
    return;
  }
  if (named !== '' && named !== info.namespace) {
    throw badRequest(
      `the namespace of the provided object does not match the namespace sent on the request (${JSON.stringify(named)}, ${JSON.stringify(info.namespace)})`,
    );
  }
  metadata.namespace = info.namespace;
}
