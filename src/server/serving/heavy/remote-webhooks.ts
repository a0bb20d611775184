import type { WebhookClient } from '../../../admission/webhooks/webhook.ts';
import { type ConfigurationData, WebhookConfigurations } from '../../../admission/webhooks/webhook-configurations.ts';
import type { ConditionsOutcome, WebhookOutcome } from '../../../admission/webhooks/webhook-outcome.ts';
import { asBuffer } from '../../../base/collections/byte-span.ts';
import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Turn } from '../../../base/keyed-mutex.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import type { WebhookLookups } from '../../wiring/access/admission.ts';
import { ownBytes } from './messages.ts';
import type { JobContext } from './serve-jobs.ts';

/** The webhook configurations of the scopes, as the thread last saw them. */
export class KnownConfigurations {
  readonly #byScope = new Map<string, WebhookConfigurations>();

  of(scope: string): WebhookConfigurations {
    return getOrAdd(this.#byScope, scope, () => new WebhookConfigurations());
  }
}

/** Version of the configurations on the main thread, with all of them if the thread has another one. */
interface Configurations {
  readonly version: number;
  readonly data: ConfigurationData | undefined;
}

interface ReviewCall {
  readonly client: WebhookClient;
  readonly body: Uint8Array;
}

interface ReviewReply {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Webhooks on the thread for heavy work: matched here, called by the main thread. */
export const remoteWebhooks = (configurations: WebhookConfigurations, context: JobContext): WebhookLookups => ({
  configurations,
  async upToDate(signal) {
    const known = configurations.version;
    const asked = context.call('webhookConfigurations', { known });
    const { version, data } = (await untilAborted(asked, signal)) as Configurations;
    if (data && version > configurations.version) configurations.replace(version, data);
  },
  async send(client, body, { signal }) {
    const call: ReviewCall = { client, body: ownBytes(body) };
    const reply = (await untilAborted(context.call('sendReview', call), signal)) as ReviewReply;
    return { status: reply.status, body: asBuffer(reply.body) };
  },
  observed: (outcome) => void context.call('webhookObserved', outcome),
  conditionsObserved: (outcome) => void context.call('conditionsObserved', outcome),
});

/** The write for which the calls are made. */
interface CallingWrite {
  readonly signal: AbortSignal;
  /** Its turn among the writes of the object, if it has one. */
  readonly turn: Turn | undefined;
}

/** The same calls on the main thread. */
export const webhookCalls = (webhooks: WebhookLookups, { signal, turn }: CallingWrite) => ({
  async webhookConfigurations({ known }: { readonly known: number }): Promise<Configurations> {
    await webhooks.upToDate(signal);
    const { version } = webhooks.configurations;
    return { version, data: version === known ? undefined : webhooks.configurations.data };
  },
  async sendReview({ client, body }: ReviewCall): Promise<ReviewReply> {
    turn?.leave();
    const reply = await webhooks.send(client, asBuffer(body), { signal });
    return { status: reply.status, body: ownBytes(reply.body) };
  },
  webhookObserved: (outcome: WebhookOutcome) => webhooks.observed(outcome),
  conditionsObserved: (outcome: ConditionsOutcome) => webhooks.conditionsObserved(outcome),
});
