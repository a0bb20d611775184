import { getOrAdd } from '../base/collections/get-or-add.ts';
import type { Closable } from '../base/disposable.ts';
import type { Histogram, HistogramSeries, Metrics } from '../base/metrics.ts';

/** State of a queue that is read when metrics are shown. */
interface ObservedQueue {
  /** Items that wait to be processed. */
  readonly depth: number;
  /** How long each item in progress has been processed. Milliseconds. */
  workInProgress(): Iterable<number>;
}

/** What a queue reports as it happens. */
export interface QueueObserver extends Closable {
  added(): void;
  /** An item is processed after it has waited. */
  started(waitedMs: number): void;
  finished(workedMs: number): void;
  retried(): void;
}

export const unobserved: QueueObserver = { added() {}, started() {}, finished() {}, retried() {}, close() {} };

/** Powers of ten from 10 ns to 10 s, in seconds, as repeated multiplication makes them in client-go. */
const buckets = [1e-8];
while (buckets.length < 10) buckets.push((buckets.at(-1) ?? 0) * 10);

/** Metrics of work queues, under the names of client-go. Queues of one name share their series. */
export class WorkQueueMetrics {
  readonly #open = new Map<string, Set<ObservedQueue>>();
  readonly #adds: ReturnType<Metrics['counter']>;
  readonly #retries: ReturnType<Metrics['counter']>;
  readonly #waited: Histogram<string>;
  readonly #worked: Histogram<string>;

  constructor(metrics: Metrics) {
    const labels = ['name'] as const;
    this.#adds = metrics.counter({ name: 'workqueue_adds_total', help: 'Items added to a work queue.', labels });
    this.#retries = metrics.counter({
      ...{ name: 'workqueue_retries_total', labels },
      help: 'Items that a work queue was asked to add later, after a failure or for a date.',
    });
    this.#waited = metrics.histogram({
      ...{ name: 'workqueue_queue_duration_seconds', labels, buckets },
      help: 'How long items waited in a work queue before they were processed.',
    });
    this.#worked = metrics.histogram({
      ...{ name: 'workqueue_work_duration_seconds', labels, buckets },
      help: 'How long items of a work queue were processed.',
    });
    this.#collect(metrics);
  }

  #collect(metrics: Metrics): void {
    const labels = ['name'] as const;
    const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Items that wait in a work queue.', labels });
    const unfinished = metrics.gauge({
      ...{ name: 'workqueue_unfinished_work_seconds', labels },
      help: 'How long the items in progress have been processed, in total. A steady increase means that some are stuck.',
    });
    const longest = metrics.gauge({
      ...{ name: 'workqueue_longest_running_processor_seconds', labels },
      help: 'How long the oldest item in progress has been processed.',
    });
    metrics.onCollect(() => {
      for (const [name, queues] of this.#open) {
        const all = [...queues];
        const inProgress = all.flatMap((queue) => [...queue.workInProgress()]);
        depth.set({ name }, sum(all.map((queue) => queue.depth)));
        unfinished.set({ name }, sum(inProgress) / 1_000);
        longest.set({ name }, Math.max(0, ...inProgress) / 1_000);
      }
    });
  }

  /** Observes a queue until the result is closed. */
  observe(name: string, queue: ObservedQueue): QueueObserver {
    const queues = getOrAdd(this.#open, name, () => new Set<ObservedQueue>()).add(queue);
    const adds = this.#adds.of({ name });
    const retries = this.#retries.of({ name });
    return {
      added: () => adds.add(),
      retried: () => retries.add(),
      started: inSeconds(this.#waited.of({ name })),
      finished: inSeconds(this.#worked.of({ name })),
      close: () => queues.delete(queue),
    };
  }
}

const inSeconds =
  (series: HistogramSeries) =>
  (ms: number): void =>
    series.observe(ms / 1_000);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
