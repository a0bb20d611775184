import { type Clock, pause } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ApiClient, ApiList, ObjectEvent } from './api-client.ts';

export interface ReflectorOptions {
  readonly client: ApiClient;
  /** Path of the collection, with its selectors as a query. */
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the reflector. */
  readonly signal: AbortSignal;
  /** The whole collection, after each list. */
  readonly listed: (objects: readonly ApiObject[]) => void;
  readonly changed: (event: ObjectEvent) => void;
}

/** Waits between attempts, in milliseconds; the last one repeats. */
const retryMs = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/**
 * Follows a collection: lists it, then watches from the list's version. When a watch ends it goes on from the last
 * version it saw; when history does not reach back that far (410) it lists again. Runs until the signal aborts.
 */
export async function reflect(options: ReflectorOptions): Promise<void> {
  const { signal, logger, path } = options;
  let version: string | undefined;
  for (let failures = 0; !signal.aborted; ) {
    try {
      version ??= await list(options);
      const next = await follow(options, version);
      failures = next === version ? failures + 1 : 0;
      version = next;
      // A watch that ends at once without an event would otherwise be opened again and again.
      if (failures > 0) await wait(options, failures);
    } catch (error) {
      if (signal.aborted) return;
      version = undefined;
      logger.debug('a watch is started again with a list', { path, error });
      await wait(options, ++failures);
    }
  }
}

async function list({ client, path, signal, listed }: ReflectorOptions): Promise<string> {
  const { items, metadata } = await client.get<ApiList>(path, signal);
  listed(items);
  return metadata.resourceVersion;
}

/** Gives the version to go on from. Throws where only a list helps. */
async function follow({ client, path, signal, changed }: ReflectorOptions, from: string): Promise<string> {
  const separator = path.includes('?') ? '&' : '?';
  const target = `${path}${separator}watch=true&allowWatchBookmarks=true&resourceVersion=${from}`;
  let version = from;
  for await (const event of client.watch(target, signal)) {
    if (event.type === 'ERROR') throw new Error(event.object.message ?? 'the watch failed');
    version = event.object.metadata.resourceVersion ?? version;
    if (event.type !== 'BOOKMARK') changed({ type: event.type, object: event.object });
  }
  return version;
}

const wait = ({ clock, signal }: ReflectorOptions, failures: number): Promise<void> =>
  pause(clock, retryMs[Math.min(failures, retryMs.length) - 1] ?? 0, signal);
