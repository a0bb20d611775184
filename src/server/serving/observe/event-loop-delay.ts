import type { Closable } from '../../../base/disposable.ts';
import type { Metrics } from '../../../base/metrics.ts';

/** Samples of the runtime's event loop monitor since the last `reset`, in nanoseconds. */
export interface EventLoopDelays {
  readonly count: number;
  readonly max: number;
  percentile(percentile: number): number;
  reset(): void;
  disable(): unknown;
}

/** Sampling interval. A sample is the time between two looks, so the interval is subtracted from it. */
const resolutionMs = 20;

const quantiles = [0.5, 0.99, 1] as const;

/** Event loop delay since the last collection. Measured by the runtime outside JavaScript. */
export function observeEventLoopDelay(metrics: Metrics, measure: (resolutionMs: number) => EventLoopDelays): Closable {
  const delays = measure(resolutionMs);
  const gauge = metrics.gauge({
    name: 'orch_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last collection; quantile 1 is the maximum.',
    labels: ['quantile'],
  });
  const series = quantiles.map((quantile) => ({ quantile, gauge: gauge.of({ quantile: String(quantile) }) }));
  metrics.onCollect(() => {
    for (const each of series) {
      const ns = delays.count === 0 ? 0 : each.quantile === 1 ? delays.max : delays.percentile(each.quantile * 100);
      each.gauge.set(Math.max(0, ns / 1e9 - resolutionMs / 1000));
    }
    delays.reset();
  });
  return { close: () => void delays.disable() };
}
