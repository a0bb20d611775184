import { limits } from '../../base/limits.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { StatusError } from '../../meta/status-error.ts';
import { listedCollection, parseListOptions } from '../read/list-options.ts';
import type { Reply } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { parseDeleteOptions, refuseIgnoreReadErrors } from '../write/delete-options.ts';
import type { ObjectWriter, WriteContext } from '../write/object-writer.ts';
import { deletionContext, remove, removedStatus, warnOfOrphans } from './delete.ts';
import { readList } from './list.ts';

/**
 * DELETE of a collection: lists the selected objects, then deletes each. Objects that others removed meanwhile count as
 * deleted. The first error ends the request; objects deleted until then stay deleted.
 */
export async function deleteCollection(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
): Promise<Reply> {
  const { served, info, signal } = request;
  const options = parseDeleteOptions(request, parts);
  refuseIgnoreReadErrors(options, parts.dialect.group('meta'));
  warnOfOrphans(request, options);
  const listOptions = parseListOptions(info.query, listedCollection(parts, request));
  const list = await readList(parts, served, info.namespace, listOptions, request);
  const context = deletionContext(request, options);
  const { undeletable } = served.kind;
  const removeEntry = async (entry: CacheEntry): Promise<void> => {
    if (undeletable?.names.includes(entry.name)) return;
    try {
      await remove(writer, inNamespace(context, entry), entry.name, options);
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
    }
  };
  await inParallel(list.items, limits.deleteCollectionParallel, removeEntry, signal);
  return { type: 'status', status: 200, body: removedStatus(served) };
}

/** The write context for one object, if the collection spans namespaces. */
const inNamespace = (context: WriteContext, { namespace }: CacheEntry): WriteContext => ({
  ...context,
  info: { ...context.info, namespace },
});

/** Calls `run` for each item, at most `parallel` at once. Stops at the first error or when the signal aborts. */
async function inParallel<T>(
  items: Iterable<T>,
  parallel: number,
  run: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done && !failed; next = iterator.next()) {
      signal.throwIfAborted();
      try {
        await run(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}
