import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { webhooksErrors } from './webhook-errors.ts';
import { mutatingWebhook, validatingWebhook, type Webhook, webhooksOf } from './webhook-schema.ts';

const validatingSchema = kindSchema('api.admissionregistration.v1.ValidatingWebhookConfiguration', 'Webhooks that are asked about writes, and allow or refuse them.', {
  webhooks: webhooksOf(validatingWebhook),
});
const mutatingSchema = kindSchema('api.admissionregistration.v1.MutatingWebhookConfiguration', 'Webhooks that are asked about writes, and may change the object.', {
  webhooks: webhooksOf(mutatingWebhook),
});

/** The webhooks of a configuration of either kind, as decoded. */
const webhooksIn = (configuration: ApiObject): readonly Webhook[] => (configuration as ApiObject & { readonly webhooks?: readonly Webhook[] }).webhooks ?? [];

const columns = [nameColumn, column('Webhooks', 'Number of webhooks.', countAt('.webhooks'), { type: 'integer' }), ageColumn];

const webhookConfiguration = (dialect: Dialect, definition: Pick<Kind, 'kind' | 'schema'>): Kind =>
  defineKind({
    ...definition,
    group: dialect.group('admissionregistration'),
    categories: ['api-extensions'],
    scope: 'Cluster',
    columns,
    strategy: {
      validateCreate: (object) => webhooksErrors(webhooksIn(object), undefined),
      validateUpdate: (object, old) => webhooksErrors(webhooksIn(object), webhooksIn(old)),
    },
    unconditionalUpdate: false,
    generation: true,
  });

/** ValidatingWebhookConfiguration. */
export const validatingWebhookConfiguration = (dialect: Dialect): Kind => webhookConfiguration(dialect, { kind: 'ValidatingWebhookConfiguration', schema: validatingSchema });

/** MutatingWebhookConfiguration. */
export const mutatingWebhookConfiguration = (dialect: Dialect): Kind => webhookConfiguration(dialect, { kind: 'MutatingWebhookConfiguration', schema: mutatingSchema });
