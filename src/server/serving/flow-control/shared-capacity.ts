import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { BodyIntake } from './body-intake.ts';
import { type FlowMetrics, flowMetrics, observePools } from './flow-metrics.ts';
import { PlacePool } from './place-pool.ts';
import { Commons } from './tenant.ts';

/** What a request needs a place for. Reviews are answered and write nothing. */
export type PlaceKind = 'readOnly' | 'mutating' | 'review';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly metrics: Metrics;
  /** Places for requests that read, and for requests that write; 0 where there is no limit. */
  readonly max: { readonly reads: number; readonly writes: number };
  /** What a request may take in all. Milliseconds. */
  readonly requestMsMax: number;
}

/** What is short in a process, in all of its scopes together. */
export class SharedCapacity implements Closable {
  readonly pools: Readonly<Record<PlaceKind, PlacePool>>;
  readonly bodies: BodyIntake;
  readonly dialect: Dialect;
  readonly metrics: FlowMetrics;
  readonly exempt = new Commons();
  readonly others = new Commons();

  constructor(options: CapacityOptions) {
    const { clock, dialect, max, requestMsMax } = options;
    this.dialect = dialect;
    this.metrics = flowMetrics(options.metrics);
    this.bodies = new BodyIntake({ clock, metrics: this.metrics });
    const pool = { clock, waitMsMax: requestMsMax * limits.waitingPart, metrics: this.metrics };
    this.pools = {
      readOnly: new PlacePool({ ...pool, max: max.reads }),
      mutating: new PlacePool({ ...pool, max: max.writes }),
      review: new PlacePool({ ...pool, max: max.writes }),
    };
    observePools(options.metrics, this.pools);
  }

  /** Why writes do not go on; undefined where they do. */
  writeTrouble(): string | undefined {
    const stalledMs = this.pools.mutating.stalledMs;
    if (stalledMs <= limits.writesStalledMsMax) return undefined;
    return `no write has ended for ${Math.floor(stalledMs / 1000)} s while others wait`;
  }

  close(): void {
    this.bodies.close();
    for (const pool of Object.values(this.pools)) pool.close();
  }
}
