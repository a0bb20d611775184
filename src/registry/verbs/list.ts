import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, RangeOptions, Snapshot } from '../../cache/cache.ts';
import { expiredContinue, StatusError } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';
import { candidates, select } from '../read/candidates.ts';
import { encodeContinueToken } from '../read/continue-token.ts';
import { type ListOptions, listedCollection, parseListOptions } from '../read/list-options.ts';
import { refuseCorrupt, refuseFormerNamespace } from '../read/read-checks.ts';
import { awaitConsistency } from '../read/read-consistency.ts';
import type { ListMetadata, ListReply } from '../reply.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';

/** Lists a collection (spec sections 4.4 and 4.5). */
export async function list(parts: RegistryParts, request: VerbRequest): Promise<ListReply> {
  const { served, info } = request;
  const options = parseListOptions(info.query, listedCollection(parts, request));
  return inServedVersion(parts, await readList(parts, served, info.namespace, options, request), request);
}

/** The list with its items in the version that is asked for. */
async function inServedVersion(
  { clock }: Pick<RegistryParts, 'clock'>,
  reply: ListReply,
  request: VerbRequest,
): Promise<ListReply> {
  const { type, served, metadata, items, count } = reply;
  const { forms } = served;
  if (!forms) return reply;
  const converted = await forms.entries(items, new TimeSlice(clock, request), request);
  return { type, served, metadata, items: converted, count };
}

/** Reads the list that the options describe, in stored form. */
export async function readList(
  parts: Pick<RegistryParts, 'store' | 'clock' | 'isSameNamespace'>,
  served: ServedResource,
  namespace: string,
  options: ListOptions,
  client: Pick<VerbRequest, 'signal' | 'owner'>,
): Promise<ListReply> {
  const { consistency } = options;
  const target = { served, prefix: served.collectionKey(namespace), options, owner: client.owner };
  try {
    await consistent(parts, served, consistency, client);
    if (consistency.type !== 'exact') return await fromSnapshot(target, served.collection.snapshot(), parts.clock);
    await refuseFormerNamespace(parts, served, namespace, consistency.revision);
    const snapshot = served.collection.snapshotAt(consistency.revision);
    return snapshot
      ? await fromSnapshot(target, snapshot, parts.clock)
      : await fromStore(target, parts, consistency.revision);
  } catch (error) {
    const known = toStatusError(error, served.name, '', consistency.type === 'exact' ? consistency.revision : 0);
    throw isExpired(known) && options.after !== undefined
      ? expiredContinue(continueAtNewest(target, options.after))
      : known;
  }
}

/** See `awaitConsistency`. Counts the lists of the newest state. */
async function consistent(
  parts: Pick<RegistryParts, 'clock'>,
  served: ServedResource,
  consistency: ListOptions['consistency'],
  { signal }: Pick<VerbRequest, 'signal'>,
): Promise<void> {
  const { metrics } = served.collection;
  const counts = consistency.type === 'mostRecent';
  try {
    await awaitConsistency(parts, consistency, { signal, served });
  } catch (error) {
    if (counts) metrics.consistentRead(false);
    throw error;
  }
  if (counts) metrics.consistentRead(true);
}

const isExpired = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Expired';

/** The continue token of an expired list: the same position, at the newest revision. */
const continueAtNewest = ({ prefix }: ListTarget, after: string): string =>
  encodeContinueToken({ revision: 'newest', after }, prefix);

interface ListTarget {
  readonly served: ServedResource;
  /** Key prefix of the collection. */
  readonly prefix: string;
  readonly options: ListOptions;
  /** See VerbRequest. */
  readonly owner: unknown;
}

async function fromSnapshot(target: ListTarget, snapshot: Snapshot, clock: Clock): Promise<ListReply> {
  const { prefix, options, owner } = target;
  const { selection, limit } = options;
  refuseCorrupt(snapshot, prefix);
  const range = options.after === undefined ? {} : { after: prefix + options.after };
  if (!selection.matches) return lazyRange(target, snapshot, range);
  const { entries, index } = candidates(target.served, snapshot, prefix, selection, range);
  const slice = new TimeSlice(clock, { owner });
  const countMax = limit === undefined ? Number.POSITIVE_INFINITY : limit + 1;
  const { entries: found, tested } = await select(entries, selection, { slice, countMax });
  const items = limit === undefined ? found : found.slice(0, limit);
  target.served.collection.metrics.listed({ index, fetched: tested, returned: items.length });
  const last = items.at(-1);
  if (items.length === found.length || !last) return reply(target, snapshot.revision, page(items));
  return reply(target, snapshot.revision, page(items, { last, remaining: 0 }));
}

/** All entries of a range, up to the limit. They are read lazily while the response is sent. */
function lazyRange(target: ListTarget, snapshot: Snapshot, range: RangeOptions): ListReply {
  const { prefix, options } = target;
  const { limit } = options;
  const cut = limit === undefined ? undefined : snapshot.cut(prefix, range, limit);
  const shown = cut ? { ...range, before: cut.next.key } : range;
  const length = snapshot.count(prefix, shown);
  target.served.collection.metrics.listed({ fetched: length, returned: length });
  return reply(target, snapshot.revision, {
    items: snapshot.entries(prefix, shown),
    count: () => length,
    runs: snapshot.runs(prefix, shown),
    ...(cut && { cut }),
  });
}

/** Reads a revision that the cache no longer holds from the store, page by page, up to the limit. */
async function fromStore(
  target: ListTarget,
  { store, clock }: Pick<RegistryParts, 'store' | 'clock'>,
  at: Revision,
): Promise<ListReply> {
  const { served, prefix, options, owner } = target;
  const slice = new TimeSlice(clock, { owner });
  const wanted = options.limit ?? Number.POSITIVE_INFINITY;
  // The exact remaining count is needed only for a limited list without a selector.
  const remaining = options.limit === undefined || options.selection.matches ? 'whether' : 'exact';
  const items: CacheEntry[] = [];
  let after = options.after === undefined ? undefined : prefix + options.after;
  let [fetched, evaluated] = [0, 0];
  const replyWith = (cut?: Cut): ListReply => {
    served.collection.metrics.listedFromStore({ fetched, evaluated, returned: items.length });
    return reply(target, at, page(items, cut));
  };
  for (;;) {
    const read = await store.list(prefix, {
      at,
      limit: limits.storePageMax,
      remaining,
      ...(after !== undefined && { after }),
    });
    fetched += read.records.length;
    for (const [index, record] of read.records.entries()) {
      if (slice.over) await slice.next();
      const ready = served.collection.ready(clock, record.value);
      if (ready) await ready;
      const entry = served.collection.decode(record);
      evaluated++;
      if (options.selection.matches && !options.selection.matches(entry)) continue;
      const last = items.at(-1);
      if (last && items.length === wanted) {
        const cut = { last, remaining: read.remaining + read.records.length - index };
        return replyWith(cut);
      }
      items.push(entry);
    }
    after = read.records.at(-1)?.key;
    if (read.remaining === 0 || after === undefined) return replyWith();
  }
}

/**
 * A limited list that has more entries: the last entry returned, and the number of entries after it (used only without
 * a selector).
 */
interface Cut {
  readonly last: CacheEntry;
  readonly remaining: number;
}

type Page = Pick<ListReply, 'items' | 'count' | 'runs'> & { readonly cut?: Cut };

const page = (items: readonly CacheEntry[], cut?: Cut): Page => ({
  items,
  count: () => items.length,
  ...(cut && { cut }),
});

function reply(target: ListTarget, revision: Revision, { items, count, runs, cut }: Page): ListReply {
  const { served, prefix, options } = target;
  const metadata: ListMetadata = {
    resourceVersion: String(revision),
    ...(cut && {
      continue: encodeContinueToken({ revision, after: cut.last.key.slice(prefix.length) }, prefix),
      // Spec section 2.1: omitted when a selector was used.
      ...(!options.selection.matches && { remainingItemCount: cut.remaining }),
    }),
  };
  return { type: 'list', served, metadata, items, count, runs };
}
