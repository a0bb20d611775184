import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { ConnectionSpread } from '../../http/listener.ts';
import type { SeatData } from './thread-messages.ts';

/**
 * Keeps the connections of a port spread over its threads. The system chooses the thread of a connection by a hash of
 * its addresses: of few connections one thread may have all. Such a thread tells a client to connect again, which most
 * probably finds another one; less and less often if that does not help.
 */
export function connectionSpread(
  { connections, number, threads }: Pick<SeatData, 'connections' | 'number' | 'threads'>,
  clock: Pick<Clock, 'monotonic'>,
): ConnectionSpread {
  const counts = new Int32Array(connections);
  let waitMs: number = limits.connectionShedMs;
  let nextAt = 0;
  return {
    sheds(own) {
      Atomics.store(counts, number, own);
      let all = 0;
      for (let at = 0; at < threads; at++) all += Atomics.load(counts, at);
      const mean = all / threads;
      if (own - mean < Math.max(crowdedMin, mean * crowdedPart)) {
        waitMs = limits.connectionShedMs;
        return false;
      }
      if (clock.monotonic() < nextAt) return false;
      nextAt = clock.monotonic() + waitMs;
      waitMs = Math.min(waitMs * 2, limits.connectionShedMsMax);
      return true;
    },
  };
}

/** A thread is crowded with so many connections beyond the mean: two of two threads' two, and three of their four. */
const crowdedMin = 1;
const crowdedPart = 0.25;
