import type { HistogramSeries, Metrics } from '../../../base/metrics.ts';

/**
 * Time that requests spent in the stages that may wait, with the stage names of kube-apiserver's filters. A stage that
 * has nothing to do for a request does not count it: most requests neither impersonate nor wait for a seat.
 */
export class StageTimes {
  readonly authentication: HistogramSeries;
  readonly impersonation: HistogramSeries;
  readonly priorityAndFairness: HistogramSeries;
  readonly authorization: HistogramSeries;

  constructor(metrics: Metrics) {
    const times = metrics.histogram({
      name: 'apiserver_request_filter_duration_seconds',
      help: 'Time that requests spent in a stage, by stage. Requests for which a stage has nothing to do do not count.',
      labels: ['filter'],
      buckets: [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30],
    });
    this.authentication = times.of({ filter: 'authentication' });
    this.impersonation = times.of({ filter: 'impersonation' });
    this.priorityAndFairness = times.of({ filter: 'priorityandfairness' });
    this.authorization = times.of({ filter: 'authorization' });
  }
}
