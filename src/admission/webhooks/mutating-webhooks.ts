import { stringifyJson } from '../../codec/json.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AnnotationLevel } from '../../request/audit-annotations.ts';
import { type AdmissionPlugin, type Mutator, noMutators } from '../chain.ts';
import type { Matched } from '../matching/match-index.ts';
import { ReviewedObjects } from './call-webhook.ts';
import { jsonPatch } from './review-answer.ts';
import type { Webhook } from './webhook.ts';
import { consult, isExempt, isSelected, type WebhookParts } from './webhook-dispatch.ts';
import { applyPatch } from './webhook-patch.ts';

/** The webhooks of MutatingWebhookConfigurations: called one after the other, each with what the last one left. */
export const mutatingWebhooks = (parts: WebhookParts): AdmissionPlugin => ({
  name: 'MutatingAdmissionWebhook',
  sideEffects: 'none',
  concerns: (attributes) => !isExempt(attributes, parts),
  mutate: ({ signal }) => parts.upToDate(signal),
  mutators(attributes) {
    const matched = parts.configurations.webhooks('admit').find(attributes);
    if (matched.length === 0) return noMutators;
    const objects = new ReviewedObjects(attributes);
    return { mutators: matched.map((each) => mutatorOf(each, objects, parts)) };
  },
});

const mutatorOf = (matched: Matched<Webhook>, objects: ReviewedObjects, parts: WebhookParts): Mutator => {
  const { id, name, reinvocationPolicy } = matched.item;
  return {
    ...{ id, reinvocationPolicy, title: `admission webhook ${JSON.stringify(name)}` },
    // A refusal of a dry run is one of the webhook, and counted as such.
    sideEffects: 'none',
    concerns: (attributes) => isSelected(matched, attributes, parts),
    mutate: (attributes, round) => mutate(matched, objects, attributes, { parts, round }),
  };
};

async function mutate(
  matched: Matched<Webhook>,
  objects: ReviewedObjects,
  attributes: AdmissionAttributes,
  { parts, round }: { readonly parts: WebhookParts; readonly round: 0 | 1 },
): Promise<void> {
  const { name: webhook, configuration, index } = matched.item;
  const before = attributes.replacements;
  const annotate = (prefix: string, value: string, from?: AnnotationLevel): void => {
    const key = `${prefix}webhook.${parts.dialect.group('admission')}/round_${round}_index_${index}`;
    attributes.annotate(key, value, from);
  };
  let applied: readonly unknown[] = [];
  try {
    const answer = await consult(matched, objects, attributes, parts, async (permission) => {
      applied = await applyPatch(matched, permission, attributes);
    });
    if (!answer) annotate('failed-open.mutation.', webhook);
    if (applied.length === 0) return;
    annotate('patch.', stringifyJson({ configuration, webhook, patch: applied, patchType: jsonPatch }), 'Request');
  } finally {
    const mutated = attributes.replacements !== before;
    annotate('mutation.', stringifyJson({ configuration, webhook, mutated }));
  }
}
