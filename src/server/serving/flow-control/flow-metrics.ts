import type { Metrics } from '../../../base/metrics.ts';
import type { FlowSchema } from './flow-schemas.ts';
import type { SeatPool } from './seat-pool.ts';
import type { RefusalReason } from './too-many-requests.ts';

/** Metrics of requests that waited or were refused. No label holds values sent by clients. */
export interface FlowMetrics {
  waited(schema: FlowSchema, granted: boolean, seconds: number): void;
  rejected(schema: FlowSchema, reason: RefusalReason): void;
  bodyGivenUp(reason: 'slow' | 'share'): void;
  answerCutOff(): void;
}

/** Uses the metric names of kube-apiserver where they exist. */
export function flowMetrics(metrics: Metrics): FlowMetrics {
  const schemaLabels = ['flow_schema', 'priority_level'] as const;
  const rejected = metrics.counter({
    name: 'apiserver_flowcontrol_rejected_requests_total',
    stability: 'BETA',
    help: 'Requests that got no seat: refused with 429, or cancelled.',
    labels: [...schemaLabels, 'reason'],
  });
  const waited = metrics.histogram({
    name: 'apiserver_flowcontrol_request_wait_duration_seconds',
    stability: 'BETA',
    help: 'Time that requests waited for a seat if none was free at once.',
    labels: [...schemaLabels, 'execute'],
    buckets: [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  });
  const bodies = metrics.counter({
    name: 'orch_request_bodies_given_up_total',
    help: 'Request bodies that arrived too slowly or exceeded the share of their sender.',
    labels: ['reason'],
  });
  const answers = metrics.counter({
    name: 'orch_unread_answers_cut_off_total',
    help: 'Responses cut off because their clients left too much unread.',
    labels: [],
  });
  const labels = ({ name, level }: FlowSchema) => ({ flow_schema: name, priority_level: level });
  return {
    waited: (schema, granted, seconds) => waited.observe({ ...labels(schema), execute: String(granted) }, seconds),
    rejected: (schema, reason) => rejected.add({ ...labels(schema), reason }),
    bodyGivenUp: (reason) => bodies.add({ reason }),
    answerCutOff: () => answers.add({}),
  };
}

/** Reports seats in use and requests waiting, by kind of request: the peak since the last collection. */
export function observePools(metrics: Metrics, pools: Readonly<Record<string, SeatPool>>): void {
  const inFlight = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    stability: 'STABLE',
    help: 'Maximum of concurrently executing requests since the last collection.',
    labels: ['request_kind'],
  });
  const waiting = metrics.gauge({
    name: 'apiserver_current_inqueue_requests',
    help: 'Maximum of requests waiting for a seat since the last collection.',
    labels: ['request_kind'],
  });
  metrics.onCollect(() => {
    for (const [kind, pool] of Object.entries(pools)) {
      const peaks = pool.takePeaks();
      inFlight.set({ request_kind: kind }, peaks.inFlight);
      waiting.set({ request_kind: kind }, peaks.waiting);
    }
  });
}
