import { conditionMetrics, webhookMetrics } from '../../admission/webhooks/webhook-metrics.ts';
import type { WebhookOutcome } from '../../admission/webhooks/webhook-outcome.ts';
import type { Logger } from '../../base/logger.ts';
import type { WebhookLookups } from '../wiring/access/admission.ts';
import type { ScopeParts } from '../wiring/scopes/scope-parts.ts';
import { followWebhooks } from './follow-webhooks.ts';
import { WebhookConnections } from './webhook-connections.ts';

/** The admission webhooks of a scope: their configurations, the connections to them, and what is told of their calls. */
export function openWebhooks(parts: ScopeParts): WebhookLookups {
  const { cache, clock, environment, held, logger, metrics } = parts;
  const { network, files } = environment;
  const connections = held.add(new WebhookConnections({ clock, network, files }));
  const count = webhookMetrics(metrics);
  return {
    configurations: followWebhooks(parts),
    upToDate: (signal) => (cache.isFresh() ? undefined : cache.fresh(signal).then(() => {})),
    send: connections.send,
    observed(outcome) {
      count(outcome);
      logFailure(outcome, logger);
    },
    conditionsObserved: conditionMetrics(metrics),
  };
}

/** A webhook that cannot be called is something for its operator to know, whether it let the request pass or not. */
function logFailure({ webhook, end, problem, aborted }: WebhookOutcome, logger: Logger): void {
  if (problem === undefined || aborted) return;
  const consequence = end === 'ignored' ? 'the request passes' : 'the request is refused';
  logger.warn('an admission webhook failed', { webhook, consequence, problem });
}
