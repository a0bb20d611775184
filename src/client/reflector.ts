import { type BackoffPolicy, backoffMs } from '../base/backoff.ts';
import { type Clock, pause } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { TimeSlice } from '../base/time-slice.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ApiClient, ApiError, hasReason, type ObjectEvent, type WatchOptions } from './api-client.ts';
import { listPages } from './list-pages.ts';

export interface ReflectorOptions<T> {
  readonly client: ApiClient;
  /** Path of the collection, with its selectors as a query. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Ends the reflector. */
  readonly signal: AbortSignal;
  /** What is needed of a listed object; the rest is not kept while the list is read. */
  readonly select: (object: ApiObject) => T;
  /** The whole collection, after each list. Changes wait until it is done. */
  readonly listed: (items: readonly T[]) => Promise<void> | void;
  readonly changed: (event: ObjectEvent) => void;
  /** Events that need not be read; see WatchOptions. */
  readonly skip?: (line: Buffer) => boolean;
  readonly read?: WatchOptions['read'];
  /** Reads an object of a list; all of it where this is absent. */
  readonly readItem?: (bytes: Buffer) => ApiObject;
}

/** Between attempts to list or watch. */
const retries: BackoffPolicy = { firstMs: 100, maxMs: 10_000 };
/** A watch ends after this many seconds at the latest, so that one whose connection died unseen is replaced. */
const watchSeconds = 480;
/** Watches from one version that fail one after the other before the version itself is given up. */
const failuresMax = 3;

/** History does not reach back to the version to go on from. */
class ExpiredVersion extends Error {}

/**
 * Follows a collection: lists it, then watches from the list's version. When a watch ends or breaks it goes on from the
 * last version it saw; when history does not reach back that far (410) it lists again. Runs until the signal aborts.
 */
export async function reflect<T>(options: ReflectorOptions<T>): Promise<void> {
  const { signal, logger, path, clock, random } = options;
  const position: Position = { version: undefined };
  for (let failures = 0; !signal.aborted; ) {
    const before = position.version;
    try {
      position.version ??= await list(options);
      await follow(options, position);
      // A watch that ends at once without an event would otherwise be opened again and again.
      failures = position.version === before ? failures + 1 : 0;
    } catch (error) {
      if (signal.aborted) return;
      failures = position.version === before ? failures + 1 : 1;
      if (error instanceof ExpiredVersion || failures >= failuresMax) position.version = undefined;
      logger.debug('a watch is started again', { path, with: position.version ?? 'a list', error });
    }
    if (failures > 0) await pause(clock, backoffMs(retries, failures, random), signal);
  }
}

/** How far the collection is known. */
interface Position {
  version: string | undefined;
}

/** Reads all pages; they show one version. */
async function list<T>(options: ReflectorOptions<T>): Promise<string> {
  const { select, listed } = options;
  const items: T[] = [];
  let version = '';
  for await (const page of listPages(options)) {
    for (const object of page.items) items.push(select(object));
    version = page.metadata.resourceVersion;
  }
  await listed(items);
  return version;
}

const withQuery = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}`;

/** Until the watch ends. Throws where it failed. */
async function follow<T>(options: ReflectorOptions<T>, position: Position): Promise<void> {
  const { client, path, clock, signal, changed, skip, read } = options;
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}`;
  const target = `${withQuery(path)}${query}&resourceVersion=${position.version}`;
  try {
    const slice = new TimeSlice(clock);
    for await (const event of client.watch(target, { signal, skip, read })) {
      // Clients in the process may be told of very many changes without a turn of the event loop.
      if (slice.over) await slice.next();
      if (signal.aborted) return;
      if (event.type === 'ERROR') throw new ApiError(event.object, event.object.code ?? 0);
      position.version = event.object.metadata.resourceVersion ?? position.version;
      if (event.type !== 'BOOKMARK') changed({ type: event.type, object: event.object });
    }
  } catch (error) {
    const expired = hasReason(error, 'Expired') || hasReason(error, 'Gone');
    throw expired ? new ExpiredVersion('the version is too old', { cause: error }) : error;
  }
}
