import type { Closable } from '../../../base/disposable.ts';
import type { Metrics } from '../../../base/metrics.ts';

/** Samples of the runtime's event loop monitor since the last `reset`, in nanoseconds. */
export interface EventLoopDelays {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  percentile(percentile: number): number;
  reset(): void;
  disable(): unknown;
}

/** Sampling interval. A sample is the time between two looks, so the interval is subtracted from it. */
const resolutionMs = 20;

/** What is shown, under the names of the usual library for this runtime. Read in nanoseconds. */
const shown: readonly (readonly [name: string, what: string, read: (delays: EventLoopDelays) => number])[] = [
  ['nodejs_eventloop_lag_seconds', 'Mean delay', ({ mean }) => mean],
  ['nodejs_eventloop_lag_min_seconds', 'Least delay', ({ min }) => min],
  ['nodejs_eventloop_lag_max_seconds', 'Greatest delay', ({ max }) => max],
  ['nodejs_eventloop_lag_mean_seconds', 'Mean delay', ({ mean }) => mean],
  ['nodejs_eventloop_lag_p50_seconds', 'Median delay', (delays) => delays.percentile(50)],
  ['nodejs_eventloop_lag_p90_seconds', '90th percentile of the delay', (delays) => delays.percentile(90)],
  ['nodejs_eventloop_lag_p99_seconds', '99th percentile of the delay', (delays) => delays.percentile(99)],
];

/** Event loop delay since the last collection. Measured by the runtime outside JavaScript. */
export function observeEventLoop(metrics: Metrics, measure: (resolutionMs: number) => EventLoopDelays): Closable {
  const delays = measure(resolutionMs);
  const gaugeOf = (name: string, what: string) =>
    metrics
      .gauge({ name, common: true, help: `${what} of the event loop since the last collection.`, labels: [] })
      .of({});
  const gauges = shown.map(([name, what, read]) => ({ gauge: gaugeOf(name, what), read }));
  const deviation = gaugeOf('nodejs_eventloop_lag_stddev_seconds', 'Standard deviation of the delay');
  metrics.onCollect(() => {
    const sampled = delays.count > 0;
    for (const { gauge, read } of gauges) {
      gauge.set(sampled ? Math.max(0, read(delays) / 1e9 - resolutionMs / 1000) : 0);
    }
    deviation.set(sampled && Number.isFinite(delays.stddev) ? delays.stddev / 1e9 : 0);
    delays.reset();
  });
  return { close: () => void delays.disable() };
}
