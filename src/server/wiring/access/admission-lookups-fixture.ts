import { WebhookConfigurations } from '../../../admission/webhooks/webhook-configurations.ts';
import type { AdmissionLookups } from './admission.ts';

/** Test support: a server without webhooks. */
export const withoutWebhooks: Pick<AdmissionLookups, 'namespaceLabels' | 'webhooks'> = {
  namespaceLabels: () => ({}),
  webhooks: {
    configurations: new WebhookConfigurations(),
    upToDate: () => undefined,
    send: () => Promise.reject(new Error('no webhook is configured')),
    observed() {},
    conditionsObserved() {},
  },
};
