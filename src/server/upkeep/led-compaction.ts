import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Count } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Store } from '../../store/store.ts';
import { Compactor } from './compactor.ts';
import type { Lead } from './lead.ts';

/** Compaction by the server that leads. */
export interface LedCompaction extends Pick<Compactor, 'historyGrew' | 'historyBytes'>, Closable {
  /** Looks for history from before this server led: now, if it leads, or when it does. */
  measure(): Promise<void>;
}

interface LeadCompactionParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lead: Lead;
  /** How long history stays. Milliseconds; 0: another program compacts. */
  readonly windowMs: number;
  readonly early: Count;
}

export async function leadCompaction(
  store: Store,
  { clock, logger, lead, windowMs, early }: LeadCompactionParts,
): Promise<LedCompaction> {
  const options = {
    ...{ store, clock, logger },
    windowMs,
    bytesMax: limits.historyBytesMax,
    earlyCompactions: early,
  };
  /** Changes up to this revision are in the cache. */
  let applied = await store.head();
  let compactor: Compactor | undefined;
  let measure = async (): Promise<void> => {};
  let isAsked = false;
  // A server that takes the lead later finds history as after a start, and knows no older marks.
  const leading = lead.begin(() => {
    const [own, before] = [new Compactor(options), applied];
    compactor = own;
    measure = () => own.measure(before);
    if (isAsked) void measure();
    return own;
  });
  return {
    get historyBytes() {
      return compactor?.historyBytes ?? 0;
    },
    historyGrew(bytes, revision) {
      applied = revision;
      compactor?.historyGrew(bytes, revision);
    },
    measure() {
      isAsked = true;
      return measure();
    },
    close: () => leading.close(),
  };
}
