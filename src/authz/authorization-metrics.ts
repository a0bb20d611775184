import type { Metrics } from '../base/metrics.ts';

/** Result of one webhook round trip: a valid response, a timeout, a request canceled by the caller, or an unusable response. */
export type RoundTrip = 'success' | 'timeout' | 'canceled' | 'error';

/** An authorizer's decisions so far; the authorizer's wrapper increments the numbers. */
export interface DecisionCounts {
  allowed: number;
  denied: number;
}

/** Authorization metrics, under kube-apiserver's names. Created once per server. */
export interface AuthorizationMetrics {
  /** The counts of an authorizer. The same object for the same type and name, also after a reload. */
  decisionsOf(type: string, name: string): DecisionCounts;
  roundTrip(webhook: string, result: RoundTrip, seconds: number): void;
  /** A webhook failed and the next authorizer decides. */
  failedOpen(webhook: string, result: RoundTrip): void;
  conditionsEvaluated(webhook: string, seconds: number): void;
  conditionsFailed(webhook: string): void;
  conditionsExcluded(webhook: string): void;
}

/** Histogram buckets, in seconds. */
const roundTripBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25] as const;

export function authorizationMetrics(metrics: Metrics): AuthorizationMetrics {
  const evaluations = metrics.counter({
    name: 'apiserver_authorization_webhook_evaluations_total',
    help: 'Round trips to authorization webhooks.',
    labels: ['name', 'result'],
  });
  const durations = metrics.histogram({
    name: 'apiserver_authorization_webhook_duration_seconds',
    help: 'How long round trips to authorization webhooks take.',
    labels: ['name', 'result'],
    buckets: roundTripBuckets,
  });
  const failOpen = metrics.counter({
    name: 'apiserver_authorization_webhook_evaluations_fail_open_total',
    help: 'Questions without an opinion because their authorization webhook failed.',
    labels: ['name', 'result'],
  });
  return {
    decisionsOf: decisionCounts(metrics),
    roundTrip(name, result, seconds) {
      evaluations.add({ name, result });
      durations.observe({ name, result }, seconds);
    },
    failedOpen: (name, result) => failOpen.add({ name, result }),
    ...conditionMetrics(metrics),
  };
}

type ConditionMetrics = Pick<AuthorizationMetrics, 'conditionsEvaluated' | 'conditionsFailed' | 'conditionsExcluded'>;

function conditionMetrics(metrics: Metrics): ConditionMetrics {
  const labels = ['type', 'name'] as const;
  const seconds = metrics.histogram({
    name: 'apiserver_authorization_match_condition_evaluation_seconds',
    help: 'How long the match conditions of an authorizer take.',
    labels,
    buckets: conditionBuckets,
  });
  const errors = metrics.counter({
    name: 'apiserver_authorization_match_condition_evaluation_errors_total',
    help: 'Questions for which match conditions of an authorizer failed.',
    labels,
  });
  const exclusions = metrics.counter({
    name: 'apiserver_authorization_match_condition_exclusions_total',
    help: 'Questions that an authorizer was not asked because of its match conditions.',
    labels,
  });
  const type = 'Webhook';
  return {
    conditionsEvaluated: (name, value) => seconds.observe({ type, name }, value),
    conditionsFailed: (name) => errors.add({ type, name }),
    conditionsExcluded: (name) => exclusions.add({ type, name }),
  };
}

/** Decisions are counted in plain numbers, since every request adds to them, and copied to the metric when it is collected. */
function decisionCounts(metrics: Metrics): AuthorizationMetrics['decisionsOf'] {
  const counted = new Map<string, { readonly type: string; readonly name: string; readonly now: DecisionCounts }>();
  metrics.totals(
    {
      name: 'apiserver_authorization_decisions_total',
      help: 'Decisions of an authorizer that ended the question.',
      labels: ['type', 'name', 'decision'],
    },
    function* () {
      for (const { type, name, now } of counted.values()) {
        if (now.allowed > 0) yield [{ type, name, decision: 'allowed' }, now.allowed];
        if (now.denied > 0) yield [{ type, name, decision: 'denied' }, now.denied];
      }
    },
  );
  return (type, name) => {
    const key = `${type}/${name}`;
    const known = counted.get(key)?.now;
    if (known) return known;
    const now: DecisionCounts = { allowed: 0, denied: 0 };
    counted.set(key, { type, name, now });
    return now;
  };
}
