import { stringifyJson } from '../../codec/json.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AnnotationLevel } from '../../request/audit-annotations.ts';
import { type AdmissionPlugin, type Mutator, noMutators } from '../chain.ts';
import type { Matched } from '../matching/match-index.ts';
import { ReviewedObjects } from './call-webhook.ts';
import type { ReviewAnswer } from './review-answer.ts';
import type { Webhook } from './webhook.ts';
import { consult, isExempt, isSelected, type WebhookParts } from './webhook-dispatch.ts';
import { internal } from './webhook-refusal.ts';

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
    const key = `${prefix}webhook.admission.${parts.dialect.domain}/round_${round}_index_${index}`;
    attributes.annotate(key, value, from);
  };
  try {
    const answer = await consult(matched, objects, attributes, parts, async ({ patch }) => {
      if (patch) await applyPatch(matched, patch, attributes);
    });
    if (!answer) annotate('failed-open.mutation.', webhook);
    if (!answer?.patch) return;
    const patch = { configuration, webhook, patch: answer.patch.document, patchType: 'JSONPatch' };
    annotate('patch.', stringifyJson(patch), 'Request');
  } finally {
    const mutated = attributes.replacements !== before;
    annotate('mutation.', stringifyJson({ configuration, webhook, mutated }));
  }
}

/** A patch that does not apply is an error of the server's, whatever the failure policy. */
async function applyPatch(
  { item: { name }, as }: Matched<Webhook>,
  { operations }: NonNullable<ReviewAnswer['patch']>,
  attributes: AdmissionAttributes,
): Promise<void> {
  const { object } = attributes;
  if (!object) {
    const title = `admission webhook ${JSON.stringify(name)}`;
    throw internal(`${title} attempted to modify the object, which is not supported for this operation`);
  }
  const shown = await attributes.inVersion(object, as);
  await attributes.replace(patched(shown, operations), as);
}

function patched(object: unknown, operations: NonNullable<ReviewAnswer['patch']>['operations']): unknown {
  try {
    return applyJsonPatch(object, operations);
  } catch (error) {
    throw internal((error as Error).message, error);
  }
}
