import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Gauge, Metrics } from '../../../base/metrics.ts';
import type { FlowSchema } from './flow-schemas.ts';
import { exemptLevel, type SeatBounds } from './priority-levels.ts';
import type { SeatPool } from './seat-pool.ts';
import type { RefusalReason } from './too-many-requests.ts';

/** Metrics of requests that waited or were refused. No label holds values sent by clients. */
export interface FlowMetrics {
  /** A request waits for a seat; `length`: of its queue, itself included. */
  enqueued(schema: FlowSchema, length: number): void;
  waited(schema: FlowSchema, granted: boolean, seconds: number): void;
  rejected(schema: FlowSchema, reason: RefusalReason): void;
  bodyGivenUp(reason: 'slow' | 'share'): void;
  answerCutOff(): void;
  /** What requests of a schema hold now. The same object for all schemas of a name. */
  usageOf(schema: FlowSchema): SchemaUsage;
  /** Of all schemas that requests had. */
  usages(): Iterable<{ readonly schema: FlowSchema; readonly usage: SchemaUsage }>;
}

/** Counted in plain numbers, since every request changes them. */
export interface SchemaUsage {
  /** Requests that were given a seat, so far. */
  dispatched: number;
  /** Those of them that had to wait for it. */
  late: number;
  /** Requests that have a seat. */
  executing: number;
  /** Requests that wait for one. */
  waiting: number;
  /** Requests that were refused at once, after they had waited for too long, or were given up by their clients, so far. */
  rejected: number;
  timedOut: number;
  cancelled: number;
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
    help: 'Time that requests of a limited priority level waited for a seat; 0 if one was free.',
    labels: [...schemaLabels, 'execute'],
    buckets: [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  });
  const lengths = metrics.histogram({
    name: 'apiserver_flowcontrol_request_queue_length_after_enqueue',
    help: 'Requests of a tenant that wait for a seat, at each that joins them.',
    labels: schemaLabels,
    buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
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
  const usage = schemaUsage(metrics);
  const atOnce = new WeakMap<SchemaUsage, number>();
  metrics.onCollect(() => {
    for (const { schema, usage: used } of usage.usages()) {
      const count = used.dispatched - used.late;
      const added = count - (atOnce.get(used) ?? 0);
      if (schema.level === exemptLevel || added === 0) continue;
      waited.of({ ...labels(schema), execute: 'true' }).observeTimes(0, added);
      atOnce.set(used, count);
    }
  });
  return {
    enqueued: (schema, length) => lengths.observe(labels(schema), length),
    waited: (schema, granted, seconds) => waited.observe({ ...labels(schema), execute: String(granted) }, seconds),
    rejected(schema, reason) {
      rejected.add({ ...labels(schema), reason });
      usage.usageOf(schema)[endings[reason]] += 1;
    },
    bodyGivenUp: (reason) => bodies.add({ reason }),
    answerCutOff: () => answers.add({}),
    ...usage,
  };
}

/** Where refusals are counted. */
const endings = {
  'concurrency-limit': 'rejected',
  'queue-full': 'rejected',
  'time-out': 'timedOut',
  cancelled: 'cancelled',
} as const satisfies Record<RefusalReason, keyof SchemaUsage>;

const levelLabels = ['priority_level', 'flow_schema'] as const;

function schemaUsage(metrics: Metrics): Pick<FlowMetrics, 'usageOf' | 'usages'> {
  const byName = new Map<string, { readonly schema: FlowSchema; readonly usage: SchemaUsage }>();
  const known = new WeakMap<FlowSchema, SchemaUsage>();
  const gauge = (name: string, help: string, stability?: 'BETA') =>
    metrics.gauge({
      name: `apiserver_flowcontrol_${name}`,
      help,
      labels: levelLabels,
      ...(stability && { stability }),
    });
  const executing = gauge('current_executing_requests', 'Requests that have a seat.', 'BETA');
  const seats = gauge('current_executing_seats', 'Seats in use: every request has one.', 'BETA');
  metrics.formerName({
    name: 'apiserver_flowcontrol_request_concurrency_in_use',
    deprecatedIn: '1.31',
    stability: 'ALPHA',
    of: 'apiserver_flowcontrol_current_executing_seats',
  });
  const waiting = gauge('current_inqueue_requests', 'Requests that wait for a seat.', 'BETA');
  const waitingSeats = gauge('current_inqueue_seats', 'Seats that are waited for: one for each request.');
  const labelsOf = ({ name, level }: FlowSchema) => ({ priority_level: level, flow_schema: name });
  metrics.totals(
    {
      name: 'apiserver_flowcontrol_dispatched_requests_total',
      stability: 'BETA',
      help: 'Requests that were given a seat.',
      labels: levelLabels,
    },
    () => [...byName.values()].map(({ schema, usage }) => [labelsOf(schema), usage.dispatched] as const),
  );
  metrics.onCollect(() => {
    for (const { schema, usage } of byName.values()) {
      const labels = labelsOf(schema);
      executing.set(labels, usage.executing);
      seats.set(labels, usage.executing);
      waiting.set(labels, usage.waiting);
      waitingSeats.set(labels, usage.waiting);
    }
  });
  const usageOf = (schema: FlowSchema): SchemaUsage => {
    const found = known.get(schema);
    if (found) return found;
    const nothing = { dispatched: 0, late: 0, executing: 0, waiting: 0, rejected: 0, timedOut: 0, cancelled: 0 };
    const empty = { schema, usage: nothing };
    const { usage } = getOrAdd(byName, schema.name, () => empty);
    known.set(schema, usage);
    return usage;
  };
  return { usageOf, usages: () => byName.values() };
}

/** Reports the seats of each level, in all pools together. Infinite if there is no limit. */
export function observeLevels(metrics: Metrics, pools: Readonly<Record<string, Pick<SeatPool, 'limits'>>>): void {
  const gauge = (name: string, help: string, stability?: 'BETA') =>
    metrics.gauge({
      name: `apiserver_flowcontrol_${name}`,
      help,
      labels: ['priority_level'],
      ...(stability && { stability }),
    });
  const nominal = gauge('nominal_limit_seats', 'Seats by the share of a priority level.', 'BETA');
  const lower = gauge('lower_limit_seats', 'Seats of a priority level that no other one can take.');
  const upper = gauge('upper_limit_seats', 'Seats that a priority level can have at most.');
  metrics.formerName({
    name: 'apiserver_flowcontrol_request_concurrency_limit',
    deprecatedIn: '1.30',
    stability: 'ALPHA',
    of: 'apiserver_flowcontrol_nominal_limit_seats',
  });
  metrics.onCollect(() => {
    for (const [each, read] of [
      [nominal, (seats) => seats.nominal],
      [lower, (seats) => seats.lower],
      [upper, (seats) => seats.upper],
    ] satisfies readonly (readonly [Gauge<'priority_level'>, (seats: SeatBounds) => number])[]) {
      const sums = new Map<string, number>();
      for (const pool of Object.values(pools)) {
        for (const [level, seats] of pool.limits()) sums.set(level, (sums.get(level) ?? 0) + read(seats));
      }
      for (const [level, sum] of sums) each.set({ priority_level: level }, sum);
    }
  });
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
