import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, Watcher, WatchSink } from '../../cache/cache.ts';
import { badRequest, StatusError } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';
import { candidates, select } from '../read/candidates.ts';
import { listedCollection, parseWatchOptions, type WatchOptions } from '../read/list-options.ts';
import { refuseCorrupt, refuseFormerNamespace } from '../read/read-checks.ts';
import { awaitConsistency } from '../read/read-consistency.ts';
import type { WatchReply } from '../reply.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';

/** Feature gate without which no watch can ask for the objects that are there. */
export const streamingListGate = 'WatchList';

const notEnabled = (): StatusError =>
  badRequest(`sendInitialEvents is forbidden for watch unless the ${streamingListGate} feature gate is enabled`);

/** Watches a collection (spec sections 4.4, 4.5 and 6). */
export async function watch(parts: RegistryParts, request: VerbRequest): Promise<WatchReply> {
  const { served, info } = request;
  const options = parseWatchOptions(info.query, listedCollection(parts, request));
  if (!parts.features.has(streamingListGate) && info.query.has('sendInitialEvents')) throw notEnabled();
  const start = await startingPoint(parts, request, options);
  const { selection } = options;
  const namespace = info.namespace || selection.namespace;
  return {
    type: 'watch',
    served,
    initial: await initialEntries(parts, request, start.initial),
    revision: start.revision,
    bookmarks: options.bookmarks,
    initialEventsEnd: options.initialEventsEnd,
    timeoutMs: options.timeoutMs ?? randomTimeoutMs(parts),
    reached: () => served.collection.line.revision,
    start: (sink) => {
      if (start.isExpired) return expiredWatcher(sink, start.revision);
      try {
        const { collection, watchedForms: forms } = served;
        const watched = {
          after: start.revision,
          ...(namespace && { namespace }),
          ...(selection.name !== undefined && { name: selection.name }),
          ...(selection.requires && { requires: selection.requires }),
          ...(selection.matches && { matches: selection.matches }),
        };
        return forms ? forms.watch(collection, watched, sink) : collection.watch(watched, sink);
      } catch (error) {
        throw toStatusError(error, served.name, '', start.revision);
      }
    },
  };
}

/** The initial objects in the version that is asked for. */
async function initialEntries(
  { clock }: RegistryParts,
  request: VerbRequest,
  entries: Iterable<CacheEntry>,
): Promise<Iterable<CacheEntry>> {
  const { forms } = request.served;
  if (!forms) return entries;
  return forms.entries(entries, new TimeSlice(clock, request), request);
}

interface StartingPoint {
  readonly initial: Iterable<CacheEntry>;
  readonly revision: Revision;
  /** The history after `revision` is no longer available. */
  readonly isExpired?: boolean;
}

async function startingPoint(
  parts: RegistryParts,
  request: VerbRequest,
  { start, selection }: WatchOptions,
): Promise<StartingPoint> {
  const { served, info } = request;
  if (start.type === 'after') return startAfter(parts, request, start.revision);
  try {
    await awaitConsistency(parts, start.consistency, request);
  } catch (error) {
    throw toStatusError(error, served.name, '');
  }
  const snapshot = served.collection.snapshot();
  refuseCorrupt(snapshot, served.collectionKey(info.namespace));
  const { revision } = snapshot;
  if (!start.send) return { initial: [], revision };
  const prefix = served.collectionKey(info.namespace);
  const { entries } = candidates(served, snapshot, prefix, selection);
  const { initial: sent } = served.collection.metrics;
  if (!selection.matches) {
    sent.add(snapshot.count(prefix));
    // Read lazily while they are sent.
    return { initial: entries, revision };
  }
  const slice = new TimeSlice(parts.clock, { owner: request.owner });
  const selected = await select(entries, selection, { slice });
  sent.add(selected.entries.length);
  return { initial: selected.entries, revision };
}

async function startAfter(parts: RegistryParts, request: VerbRequest, revision: Revision): Promise<StartingPoint> {
  const { served, info } = request;
  const start = { initial: [], revision };
  try {
    await refuseFormerNamespace(parts, served, info.namespace, revision);
    return start;
  } catch (error) {
    const refused = toStatusError(error, served.name, '', revision);
    if (refused instanceof StatusError && refused.reason === 'Expired') return { ...start, isExpired: true };
    throw refused;
  }
}

/** Sends the 410 for an expired revision as an event on the stream, as kube-apiserver does. */
function expiredWatcher(sink: WatchSink, revision: Revision): Watcher {
  let closed = false;
  queueMicrotask(() => {
    if (!closed) sink.closed('compacted');
  });
  return {
    revision,
    resume() {},
    close() {
      closed = true;
    },
  };
}

/** Randomized so that watches opened together do not all end together. */
function randomTimeoutMs({ random, watchMsMin }: RegistryParts): number {
  const [byte = 0] = random.bytes(1);
  return watchMsMin * (1 + byte / 256);
}
