import { untilAborted } from '../../base/time/until-aborted.ts';
import { notFound, type ResourceName } from '../../meta/status-error.ts';
import { getConsistency } from '../read/list-options.ts';
import { refuseCorrupt } from '../read/read-checks.ts';
import { awaitConsistency } from '../read/read-consistency.ts';
import type { Reply } from '../reply.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';

/**
 * GET of an object or a view of it: replies with the cached bytes, synchronously if there is nothing to wait for. `name` is
 * that of the resource in an error.
 */
export function get(
  parts: RegistryParts,
  request: VerbRequest,
  name: ResourceName = request.served.name,
): Reply | Promise<Reply> {
  const { served, info } = request;
  const waiting = awaitConsistency(parts, getConsistency(info.query), request);
  if (!waiting) return read(request, name);
  return waiting.then(
    () => read(request, name),
    (error) => {
      throw toStatusError(error, served.name, info.name);
    },
  );
}

function read(request: VerbRequest, name: ResourceName): Reply | Promise<Reply> {
  const { served, info } = request;
  const key = served.objectKey(info.namespace, info.name);
  const entry = served.collection.get(key);
  if (entry) {
    const bytes = served.forms?.bytesOf(entry, request) ?? entry.bytes;
    return bytes instanceof Promise ? converted(request, bytes) : { type: 'object', status: 200, served, bytes };
  }
  refuseCorrupt(served.collection.snapshot(), key);
  throw notFound(name, info.name);
}

async function converted({ served, signal }: VerbRequest, bytes: Promise<Buffer>): Promise<Reply> {
  return { type: 'object', status: 200, served, bytes: await untilAborted(bytes, signal) };
}
