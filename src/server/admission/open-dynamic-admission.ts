import type { AdmissionConfigurations } from '../../admission/admission-configurations.ts';
import { conditionMetrics } from '../../admission/matching/condition-metrics.ts';
import { policyMetrics } from '../../admission/policies/policy-metrics.ts';
import type { ValidatingParts } from '../../admission/policies/validating-policies.ts';
import type { WebhookParts } from '../../admission/webhooks/webhook-dispatch.ts';
import { webhookMetrics } from '../../admission/webhooks/webhook-metrics.ts';
import type { WebhookOutcome } from '../../admission/webhooks/webhook-outcome.ts';
import type { Logger } from '../../base/logger.ts';
import { credentialPluginHost } from '../wiring/access/webhooks.ts';
import type { ScopeParts } from '../wiring/scopes/scope-parts.ts';
import { followConfigurations } from './follow-configurations.ts';
import { PolicyParams } from './policy-params.ts';
import { WebhookConnections, type WebhookUsers } from './webhook-connections.ts';

/** What webhooks and policies ask of the server. */
export interface DynamicAdmission
  extends Pick<WebhookParts, 'upToDate' | 'send' | 'observed' | 'conditionsObserved'>,
    Pick<ValidatingParts, 'params' | 'paramKindProblem' | 'policyObserved'> {
  readonly configurations: AdmissionConfigurations;
}

/** The webhooks and policies of a scope: their configurations, connections and params, and what is told of them. */
export function openDynamicAdmission(parts: ScopeParts, users: WebhookUsers = {}): DynamicAdmission {
  const { cache, clock, environment, held, logger, metrics } = parts;
  const { network, files } = environment;
  const pluginHost = credentialPluginHost(environment, logger);
  const connections = held.add(new WebhookConnections({ clock, network, files, pluginHost, users }));
  const params = new PolicyParams(parts);
  const count = webhookMetrics(metrics);
  return {
    configurations: followConfigurations(parts),
    upToDate: (signal) => cache.freshFor({ signal }),
    send: connections.send,
    params: (kind, ref, wanted) => params.find(kind, ref, wanted),
    paramKindProblem: (kind) => params.kindProblem(kind),
    observed(outcome) {
      count(outcome);
      logFailure(outcome, logger);
    },
    conditionsObserved: conditionMetrics(metrics),
    policyObserved: policyMetrics(metrics),
  };
}

/** A webhook that cannot be called is something for its operator to know, whether it let the request pass or not. */
function logFailure({ webhook, end, problem, aborted }: WebhookOutcome, logger: Logger): void {
  if (problem === undefined || aborted) return;
  const consequence = end === 'ignored' ? 'the request passes' : 'the request is refused';
  logger.warn('an admission webhook failed', { webhook, consequence, problem });
}
