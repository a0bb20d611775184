import { limits } from '../base/limits.ts';
import type { CacheEntry } from '../cache/cache.ts';
import type { Revision } from '../store/store.ts';
import { candidates } from './candidates.ts';
import { listedCollection, parseWatchOptions, type WatchOptions } from './list-options.ts';
import { awaitConsistency } from './read-consistency.ts';
import type { WatchReply } from './reply.ts';
import { toStatusError } from './store-errors.ts';
import { refuseUnreadable } from './unreadable.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';

/** Watches a collection (spec sections 4.4, 4.5 and 6). */
export async function watch(parts: RegistryParts, request: VerbRequest): Promise<WatchReply> {
  const { served, info } = request;
  const options = parseWatchOptions(info.query, listedCollection(parts, request));
  const start = await startingPoint(parts, request, options);
  const { selection } = options;
  const namespace = info.namespace || selection.namespace;
  return {
    type: 'watch',
    served,
    ...start,
    bookmarks: options.bookmarks,
    initialEventsEnd: options.initialEventsEnd,
    timeoutMs: options.timeoutMs ?? randomTimeoutMs(parts),
    start: (sink) => {
      try {
        return served.collection.watch(
          {
            after: start.revision,
            ...(namespace && { namespace }),
            ...(selection.name !== undefined && { name: selection.name }),
            ...(selection.requires && { requires: selection.requires }),
            ...(selection.matches && { matches: selection.matches }),
          },
          sink,
        );
      } catch (error) {
        throw toStatusError(error, served.name, '', start.revision);
      }
    },
  };
}

interface StartingPoint {
  readonly initial: Iterable<CacheEntry>;
  readonly revision: Revision;
}

async function startingPoint(
  parts: RegistryParts,
  request: VerbRequest,
  { start, selection }: WatchOptions,
): Promise<StartingPoint> {
  const { served, info } = request;
  if (start.type === 'after') return { initial: [], revision: start.revision };
  try {
    await awaitConsistency(parts.cache, start.consistency, request);
  } catch (error) {
    throw toStatusError(error, served.name, '');
  }
  const snapshot = served.collection.snapshot();
  refuseUnreadable(snapshot, served.collectionKey(info.namespace));
  const entries = start.send ? candidates(served, snapshot, served.collectionKey(info.namespace), selection) : [];
  return { initial: filter(entries, selection.matches), revision: snapshot.revision };
}

function* filter(
  entries: Iterable<CacheEntry>,
  matches: ((entry: CacheEntry) => boolean) | undefined,
): IterableIterator<CacheEntry> {
  for (const entry of entries) if (!matches || matches(entry)) yield entry;
}

/** Spread out, so that watches opened together do not end together. */
function randomTimeoutMs({ random }: RegistryParts): number {
  const [byte = 0] = random.bytes(1);
  return limits.watchMsDefault * (1 + byte / 256);
}
