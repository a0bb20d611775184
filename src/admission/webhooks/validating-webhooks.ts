import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import type { Matched } from '../matching/match-index.ts';
import { ReviewedObjects } from './call-webhook.ts';
import type { Webhook } from './webhook.ts';
import { consult, isExempt, isSelected, type WebhookParts } from './webhook-dispatch.ts';

/** The webhooks of ValidatingWebhookConfigurations: all are called at once, with the object as it is to be stored. */
export const validatingWebhooks = (parts: WebhookParts): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  sideEffects: 'none',
  concerns: (attributes) => !isExempt(attributes, parts),
  validate(attributes) {
    const waiting = parts.upToDate(attributes.signal);
    return waiting ? waiting.then(() => validate(attributes, parts)) : validate(attributes, parts);
  },
});

function validate(attributes: AdmissionAttributes, parts: WebhookParts): Promise<void> | undefined {
  const matched = parts.configurations.webhooks('validating').find(attributes);
  return matched.length === 0 ? undefined : ask(matched, attributes, parts);
}

async function ask(
  matched: readonly Matched<Webhook>[],
  attributes: AdmissionAttributes,
  parts: WebhookParts,
): Promise<void> {
  const selected: Matched<Webhook>[] = [];
  for (const each of matched) if (await isSelected(each, attributes, parts)) selected.push(each);
  if (selected.length === 0) return;
  attributes.signal.throwIfAborted();
  const objects = new ReviewedObjects(attributes);
  const verdicts = await Promise.allSettled(
    selected.map(async (each, index) => {
      if (await consult(each, objects, attributes, parts)) return;
      const key = `failed-open.validating.webhook.${parts.dialect.group('admission')}/round_0_index_${index}`;
      attributes.annotate(key, each.item.name);
    }),
  );
  for (const verdict of verdicts) if (verdict.status === 'rejected') throw verdict.reason;
}
