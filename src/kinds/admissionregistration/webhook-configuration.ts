import type { Dialect } from '../../dialect/dialect.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { mutatingWebhook, validatingWebhook, webhooksOf } from './webhook-schema.ts';

const validatingSchema = kindSchema('api.admissionregistration.v1.ValidatingWebhookConfiguration', 'Webhooks that are asked about writes, and allow or refuse them.', {
  webhooks: webhooksOf(validatingWebhook),
});
const mutatingSchema = kindSchema('api.admissionregistration.v1.MutatingWebhookConfiguration', 'Webhooks that are asked about writes, and may change the object.', {
  webhooks: webhooksOf(mutatingWebhook),
});

const columns = [nameColumn, column('Webhooks', 'Number of webhooks.', countAt('.webhooks'), { type: 'integer' }), ageColumn];

const webhookConfiguration = (dialect: Dialect, definition: Pick<Kind, 'kind' | 'schema'>): Kind =>
  defineKind({
    ...definition,
    group: dialect.group('admissionregistration'),
    categories: ['api-extensions'],
    scope: 'Cluster',
    columns,
    unconditionalUpdate: false,
    generation: true,
  });

/** ValidatingWebhookConfiguration. */
export const validatingWebhookConfiguration = (dialect: Dialect): Kind => webhookConfiguration(dialect, { kind: 'ValidatingWebhookConfiguration', schema: validatingSchema });

/** MutatingWebhookConfiguration. */
export const mutatingWebhookConfiguration = (dialect: Dialect): Kind => webhookConfiguration(dialect, { kind: 'MutatingWebhookConfiguration', schema: mutatingSchema });
