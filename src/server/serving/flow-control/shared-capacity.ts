import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { BodyIntake } from './body-intake.ts';
import { initialConfiguration } from './flow-configuration.ts';
import { type FlowMetrics, flowMetrics, observeLevels, observePools } from './flow-metrics.ts';
import type { PriorityLevel } from './priority-levels.ts';
import { SeatPool } from './seat-pool.ts';
import { SharedLimits } from './tenant.ts';

/** The kinds of seats. Reviews are create requests that write nothing. */
export type SeatKind = 'readOnly' | 'mutating' | 'review';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly metrics: Metrics;
  /** Seats for reading and for mutating requests; 0 means no limit. */
  readonly max: { readonly reads: number; readonly writes: number };
  /** Maximum duration of a request. Milliseconds. */
  readonly requestMsMax: number;
}

/** Capacity that all scopes of a process share. */
export class SharedCapacity implements Closable {
  readonly pools: Readonly<Record<SeatKind, SeatPool>>;
  readonly bodies: BodyIntake;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly metrics: FlowMetrics;
  readonly exempt = new SharedLimits();
  readonly others = new SharedLimits();
  #levels: ReadonlySet<string>;

  constructor(options: CapacityOptions) {
    const { clock, dialect, max, requestMsMax } = options;
    this.dialect = dialect;
    this.clock = clock;
    this.metrics = flowMetrics(options.metrics);
    this.bodies = new BodyIntake({ clock, metrics: this.metrics });
    const { levels } = initialConfiguration(dialect);
    const pool = { clock, waitMsMax: requestMsMax * limits.waitingPart, metrics: this.metrics, levels };
    this.#levels = namesOf(levels);
    this.pools = {
      readOnly: new SeatPool({ ...pool, max: max.reads }),
      mutating: new SeatPool({ ...pool, max: max.writes }),
      review: new SeatPool({ ...pool, max: max.writes }),
    };
    observePools(options.metrics, this.pools);
    observeLevels(options.metrics, this.pools);
  }

  hasLevel(name: string): boolean {
    return this.#levels.has(name);
  }

  /** Shares the seats out anew, see SeatPool. */
  configure(levels: readonly PriorityLevel[]): void {
    this.#levels = namesOf(levels);
    for (const pool of Object.values(this.pools)) pool.configure(levels);
  }

  /** The reason if writes are stalled; otherwise undefined. */
  writeProblem(): string | undefined {
    const stalledMs = this.pools.mutating.stalledMs;
    if (stalledMs <= limits.writesStalledMsMax) return undefined;
    return `no write has ended for ${Math.floor(stalledMs / 1000)} s while others wait`;
  }

  close(): void {
    this.bodies.close();
    for (const pool of Object.values(this.pools)) pool.close();
  }
}

const namesOf = (levels: readonly PriorityLevel[]): ReadonlySet<string> => new Set(levels.map(({ name }) => name));
