import { limits } from '../base/limits.ts';
import type { HistogramSeries, Metrics } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import { DecoratedStore } from './decorated-store.ts';
import { folderOf, resourceOf } from './key-resource.ts';
import type {
  BatchWrite,
  Committed,
  ListOptions,
  Page,
  Revision,
  Store,
  StoreRecord,
  UpdateOptions,
  WriteOptions,
} from './store.ts';

type Operation = 'get' | 'list' | 'create' | 'update' | 'delete' | 'batch';

interface Series {
  readonly total: { add(): void };
  readonly errors: { add(): void };
  readonly durations: HistogramSeries;
}

/** Durations and failures of the store's operations, by resource. */
interface StoreMetrics {
  readonly clock: Clock;
  of(operation: Operation, key: string): Series;
}

const buckets = [
  ...[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2],
  ...[3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
];

/** Uses the names of kube-apiserver, whichever store it is. */
export function storeMetrics(metrics: Metrics, clock: Clock): StoreMetrics {
  const labels = ['operation', 'type'] as const;
  const total = metrics.counter({ name: 'etcd_requests_total', help: 'Operations on the store, by resource.', labels });
  const errors = metrics.counter({
    name: 'etcd_request_errors_total',
    help: 'Operations on the store that failed, conflicts included.',
    labels,
  });
  const durations = metrics.histogram({
    name: 'etcd_request_duration_seconds',
    help: 'Durations of operations on the store, by resource.',
    labels,
    buckets,
  });
  const known = new Map<string, Partial<Record<Operation, Series>>>();
  return {
    clock,
    of(operation, key) {
      const folder = folderOf(key);
      const byOperation = known.get(folder) ?? {};
      const found = byOperation[operation];
      if (found) return found;
      const series = { operation, type: resourceOf(folder) };
      const made = { total: total.of(series), errors: errors.of(series), durations: durations.of(series) };
      byOperation[operation] = made;
      if (known.size < limits.metricSeriesMax) known.set(folder, byOperation);
      return made;
    },
  };
}

/** A store whose operations are measured. Change streams and upkeep are not. */
export const measuredStore = (store: Store, metrics: StoreMetrics): Store => new MeasuredStore(store, metrics);

class MeasuredStore extends DecoratedStore {
  readonly #metrics: StoreMetrics;

  constructor(store: Store, metrics: StoreMetrics) {
    super(store);
    this.#metrics = metrics;
  }

  override get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    return this.#measure('get', key, () => super.get(key, at));
  }

  override list(prefix: string, options?: ListOptions): Promise<Page> {
    return this.#measure('list', prefix, () => super.list(prefix, options));
  }

  override create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.#measure('create', key, () => super.create(key, value, options));
  }

  override update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed> {
    return this.#measure('update', key, () => super.update(key, value, expected, options));
  }

  override delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#measure('delete', key, () => super.delete(key, expected, options));
  }

  override batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    return this.#measure('batch', '', () => super.batch(writes));
  }

  /** What the store does before it returns is part of it. */
  async #measure<T>(operation: Operation, key: string, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#metrics;
    const series = this.#metrics.of(operation, key);
    const sinceMs = clock.monotonic();
    try {
      return await work();
    } catch (error) {
      series.errors.add();
      throw error;
    } finally {
      series.total.add();
      series.durations.observe((clock.monotonic() - sinceMs) / 1000);
    }
  }
}
