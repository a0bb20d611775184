import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ElectionTiming } from '../client/leader-election.ts';

/** Whether a leader still renews its lease, for a health check, as in kube-controller-manager. */
export class Leadership {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Until when the last renewal vouches for the leader. Monotonic; undefined while it does not lead. */
  #healthyUntil: number | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Called at each acquisition and renewal, and when the term ends. */
  note(isLeading: boolean, { leaseMs }: Pick<ElectionTiming, 'leaseMs'>): void {
    this.#healthyUntil = isLeading ? this.#clock.monotonic() + leaseMs + limits.overdueLeaderMs : undefined;
  }

  /** Why the program is unhealthy: it leads without a lease. Undefined if it is healthy. */
  problem(): string | undefined {
    const overdue = this.#healthyUntil !== undefined && this.#clock.monotonic() > this.#healthyUntil;
    return overdue ? 'the lease has not been renewed, and the term has not ended' : undefined;
  }
}
