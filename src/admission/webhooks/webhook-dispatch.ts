import type { Clock } from '../../base/time/clock.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionConfigurations } from '../admission-configurations.ts';
import { admissionForbidden } from '../forbidden.ts';
import { type ConditionsOutcome, judgeByConditions, judgedObjects } from '../matching/judge-by-conditions.ts';
import type { Matched } from '../matching/match-index.ts';
import { operationName } from '../matching/match-rules.ts';
import { type AuthorizeInExpression, RequestDecisions } from '../matching/request-decisions.ts';
import { type NamespaceLabels, selectsRequest } from '../matching/selects-request.ts';
import { CallFailure, type CallParts, callWebhook, type ReviewedObjects } from './call-webhook.ts';
import type { ReviewAnswer } from './review-answer.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';
import { callFailed, describeFailure, webhookRefusal } from './webhook-refusal.ts';

/** What the plugins of webhooks need of the server. */
export interface WebhookParts extends CallParts {
  readonly clock: Clock;
  readonly configurations: Pick<AdmissionConfigurations, 'webhooks'>;
  /** Resolves when `configurations` include all writes acknowledged before the call, on whichever server. */
  readonly upToDate: (signal: AbortSignal) => Promise<void> | undefined;
  readonly namespaceLabels: NamespaceLabels;
  readonly authorize: AuthorizeInExpression;
  readonly observed: (outcome: WebhookOutcome) => void;
  readonly conditionsObserved: (outcome: ConditionsOutcome) => void;
}

/** Configurations and policies are never sent to webhooks: one that is down could not be taken away. */
export const isExempt = ({ kind }: AdmissionAttributes, { dialect }: Pick<WebhookParts, 'dialect'>): boolean =>
  kind.group === dialect.group('admissionregistration');

/** Whether a webhook is to be called: its selectors and conditions. Throws or rejects if that cannot be found out. */
export function isSelected(
  { item: webhook, as }: Matched<Webhook>,
  attributes: AdmissionAttributes,
  parts: WebhookParts,
): boolean | Promise<boolean> {
  const selected = selectsRequest(webhook, attributes, parts.namespaceLabels);
  const { conditions } = webhook;
  if (!conditions || selected === false) return selected;
  return meetsConditions({ item: webhook, as }, attributes, selected, parts);
}

async function meetsConditions(
  { item: { name, type, conditions, failurePolicy }, as }: Matched<Webhook>,
  attributes: AdmissionAttributes,
  selected: boolean | Promise<boolean>,
  { clock, authorize, conditionsObserved }: WebhookParts,
): Promise<boolean> {
  if (!(await selected) || !conditions) return false;
  const verdict = await judgeByConditions(
    { conditions, name, type, kind: 'webhook' },
    await judgedObjects(attributes, as),
    {
      ...{ attributes, clock, conditionsObserved, decisions: new RequestDecisions(attributes, authorize) },
    },
  );
  if (verdict.type === 'failed' && failurePolicy === 'Fail') throw admissionForbidden(attributes, verdict.message);
  return verdict.type === 'met';
}

/**
 * What a webhook said, after its warnings and annotations were passed on; undefined if its failure does not count. `use` makes
 * something of a permission, and is part of the measured call.
 */
export async function consult(
  matched: Matched<Webhook>,
  objects: ReviewedObjects,
  attributes: AdmissionAttributes,
  parts: WebhookParts,
  use?: (answer: ReviewAnswer) => Promise<void>,
): Promise<ReviewAnswer | undefined> {
  const { item: webhook, as } = matched;
  const shown = await objects.shown(as);
  const observe = observerOf(webhook, attributes, parts);
  const answer = await answerOf(matched, shown, attributes, { parts, observe });
  if (!answer) return undefined;
  for (const [key, value] of Object.entries(answer.auditAnnotations)) {
    attributes.annotate(`${webhook.name}/${key}`, value);
  }
  for (const warning of answer.warnings) attributes.warn(warning);
  if (!answer.allowed) {
    const refusal = webhookRefusal(webhook.name, answer.result);
    observe({ end: 'refused', code: refusal.code });
    throw refusal;
  }
  try {
    await use?.(answer);
  } catch (error) {
    return failedOpen(webhook, error, attributes, observe);
  }
  observe({ end: 'allowed', code: 200 });
  return answer;
}

type Observe = (end: Pick<WebhookOutcome, 'end' | 'code'> & { readonly problem?: string }) => void;

function observerOf({ name, type }: Webhook, attributes: AdmissionAttributes, parts: WebhookParts): Observe {
  const began = parts.clock.monotonic();
  return (end) =>
    parts.observed({
      ...{ webhook: name, type, operation: operationName(attributes), aborted: attributes.signal.aborted },
      seconds: (parts.clock.monotonic() - began) / 1000,
      problem: undefined,
      ...end,
    });
}

/** Undefined if there is none and none is needed. */
async function answerOf(
  matched: Matched<Webhook>,
  shown: Awaited<ReturnType<ReviewedObjects['shown']>>,
  attributes: AdmissionAttributes,
  { parts, observe }: { readonly parts: WebhookParts; readonly observe: Observe },
): Promise<ReviewAnswer | undefined> {
  const { name, sideEffects } = matched.item;
  try {
    if (attributes.dryRun && sideEffects === 'some') {
      throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
    }
    return await callWebhook(matched, shown, attributes, parts);
  } catch (error) {
    return failedOpen(matched.item, error, attributes, observe);
  }
}

/** Counts what went wrong with a webhook, and returns if its failure policy ignores that. */
function failedOpen(
  { name, failurePolicy }: Webhook,
  error: unknown,
  attributes: AdmissionAttributes,
  observe: Observe,
): undefined {
  if (!(error instanceof CallFailure)) {
    // The client is told why the webhook was not asked or its patch not applied, which no policy ignores.
    observe({ end: 'broken', code: 0 });
    throw error;
  }
  const { code, message } = error;
  const isIgnored = failurePolicy === 'Ignore';
  observe({ end: isIgnored ? 'ignored' : 'failed', code, problem: describeFailure(name, message) });
  if (!isIgnored) throw callFailed(name, message, error);
  attributes.signal.throwIfAborted();
}
