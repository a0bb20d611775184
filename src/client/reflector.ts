import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { type BackoffPolicy, backoffMs } from '../base/time/backoff.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ApiClient, ApiError, hasReason, type ObjectEvent, type WatchOptions } from './api-client.ts';
import { listPages } from './list-pages.ts';

export interface ReflectorOptions<T> {
  readonly client: ApiClient;
  /** Path of the collection, with selectors in the query. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Stops the reflector. */
  readonly signal: AbortSignal;
  /** The part of a listed object to keep; the rest is dropped while the list is read. */
  readonly select: (object: ApiObject) => T;
  /** Called with the whole collection after each list. Changes are delivered after it has resolved. */
  readonly listed: (items: readonly T[]) => Promise<void> | void;
  readonly changed: (event: ObjectEvent) => void;
  /** Called with the resourceVersion up to which everything has been delivered: after a list, an event, a bookmark. */
  readonly reached?: (version: string) => void;
  /** Called after each attempt that failed. */
  readonly failed?: (error: unknown) => void;
  /** Skips events without parsing them; see WatchOptions. */
  readonly skip?: (line: Buffer) => boolean;
  readonly read?: WatchOptions['read'];
  /** Parses an object of a list. Default: parses all of it. */
  readonly readItem?: (bytes: Buffer) => ApiObject;
}

/** Pauses between attempts to list or watch. */
const retries: BackoffPolicy = { firstMs: 100, maxMs: 10_000 };
/** Maximum duration of a watch, so that one on a dead connection is replaced. */
const watchSeconds = 480;
/** Consecutive watch failures at one resourceVersion before it is given up and the collection is listed again. */
const failuresMax = 3;

/** The server's history no longer reaches back to the resourceVersion. */
class ExpiredVersion extends Error {}

/**
 * Follows a collection: lists it, then watches from the list's resourceVersion. A watch that ends or breaks is resumed from the
 * last resourceVersion seen; if that has expired (410), the collection is listed again. Runs until the signal aborts.
 */
export async function reflect<T>(options: ReflectorOptions<T>): Promise<void> {
  const { signal, logger, path, clock, random } = options;
  const position: Position = { version: undefined };
  for (let failures = 0; !signal.aborted; ) {
    const before = position.version;
    try {
      position.version ??= await list(options);
      await follow(options, position);
      // Watches that end at once without an event must not be reopened in a tight loop.
      failures = position.version === before ? failures + 1 : 0;
    } catch (error) {
      if (signal.aborted) return;
      failures = position.version === before ? failures + 1 : 1;
      if (error instanceof ExpiredVersion || failures >= failuresMax) position.version = undefined;
      options.failed?.(error);
      logger.debug('a watch is started again', { path, with: position.version ?? 'a list', error });
    }
    if (failures > 0) await pause(clock, backoffMs(retries, failures, random), signal);
  }
}

/** The resourceVersion that the reflector has reached. */
interface Position {
  version: string | undefined;
}

/** Reads all pages, which are at one resourceVersion. */
async function list<T>(options: ReflectorOptions<T>): Promise<string> {
  const { select, listed } = options;
  const items: T[] = [];
  let version = '';
  for await (const page of listPages(options)) {
    for (const object of page.items) items.push(select(object));
    version = page.metadata.resourceVersion;
  }
  await listed(items);
  options.reached?.(version);
  return version;
}

const withQuery = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}`;

/** Watches until the watch ends. Throws if it failed. */
async function follow<T>(options: ReflectorOptions<T>, position: Position): Promise<void> {
  const { client, path, clock, signal, changed, reached, skip, read } = options;
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}`;
  const target = `${withQuery(path)}${query}&resourceVersion=${position.version}`;
  try {
    const slice = new TimeSlice(clock);
    for await (const event of client.watch(target, { signal, skip, read })) {
      // An in-process client may receive very many events without a turn of the event loop.
      if (slice.over) await slice.next();
      if (signal.aborted) return;
      if (event.type === 'ERROR') throw new ApiError(event.object, event.object.code ?? 0);
      position.version = event.object.metadata.resourceVersion ?? position.version;
      if (event.type !== 'BOOKMARK') changed({ type: event.type, object: event.object });
      if (position.version !== undefined) reached?.(position.version);
    }
  } catch (error) {
    const expired = hasReason(error, 'Expired', 'Gone');
    throw expired ? new ExpiredVersion('the version is too old', { cause: error }) : error;
  }
}
