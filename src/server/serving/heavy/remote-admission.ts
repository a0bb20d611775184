import { AdmissionConfigurations, type ConfigurationData } from '../../../admission/admission-configurations.ts';
import type { ConditionsOutcome } from '../../../admission/matching/judge-by-conditions.ts';
import type { FoundParams } from '../../../admission/policies/policy-invocations.ts';
import type { PolicyOutcome } from '../../../admission/policies/policy-outcome.ts';
import type { WebhookClient } from '../../../admission/webhooks/webhook.ts';
import type { WebhookOutcome } from '../../../admission/webhooks/webhook-outcome.ts';
import type { Caller } from '../../../base/caller.ts';
import { asBuffer } from '../../../base/collections/byte-span.ts';
import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Turn } from '../../../base/keyed-mutex.ts';
import { oncePerCaller } from '../../../base/once-per-caller.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import type { ParamKind, ParamRef } from '../../../kinds/admissionregistration/policy-schema.ts';
import type { Answered } from '../../../outbound/describe-answer.ts';
import { askingFor } from '../../../resources/custom-versions.ts';
import type { DynamicAdmission } from '../../admission/open-dynamic-admission.ts';
import { ownBytes } from './messages.ts';
import type { JobContext } from './serve-jobs.ts';

/** The configurations of admission of the scopes, as the thread last saw them. */
export class KnownConfigurations {
  readonly #byScope = new Map<string, AdmissionConfigurations>();

  of(scope: string): AdmissionConfigurations {
    return getOrAdd(this.#byScope, scope, () => new AdmissionConfigurations());
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

interface ParamsCall {
  readonly kind: ParamKind;
  readonly ref: ParamRef;
  readonly namespace: string;
}

interface ReviewReply extends Omit<Answered, 'body'> {
  readonly body: Uint8Array;
}

/** Webhooks and policies on the thread for heavy work: matched and evaluated here; the main thread calls and looks up. */
export const remoteAdmission = (configurations: AdmissionConfigurations, context: JobContext): DynamicAdmission => ({
  configurations,
  upToDate: oncePerCaller(async (signal) => {
    const known = configurations.version;
    const asked = context.call('admissionConfigurations', { known });
    const { version, data } = (await untilAborted(asked, signal)) as Configurations;
    if (data && version > configurations.version) configurations.replace(version, data);
  }),
  async send(client, body, { signal }) {
    const call: ReviewCall = { client, body: ownBytes(body) };
    const reply = (await untilAborted(context.call('sendReview', call), signal)) as ReviewReply;
    return { ...reply, body: asBuffer(reply.body) };
  },
  observed: (outcome) => void context.call('webhookObserved', outcome),
  conditionsObserved: (outcome) => void context.call('conditionsObserved', outcome),
  params: async (kind, ref, { namespace }) =>
    (await untilAborted(context.call('params', { kind, ref, namespace }), context.signal)) as FoundParams,
  paramKindProblem: async (kind) =>
    (await untilAborted(context.call('paramKindProblem', kind), context.signal)) as string | undefined,
  policyObserved: (outcome) => void context.call('policyObserved', outcome),
});

/** The write for which the calls are made. */
interface CallingWrite {
  readonly caller: Caller;
  /** Its turn among the writes of the object, if it has one. */
  readonly turn: Turn | undefined;
}

/** The same calls on the main thread. */
export const admissionCalls = (dynamic: DynamicAdmission, { caller, turn }: CallingWrite) => ({
  async admissionConfigurations({ known }: { readonly known: number }): Promise<Configurations> {
    await dynamic.upToDate(caller.signal);
    const { version } = dynamic.configurations;
    return { version, data: version === known ? undefined : dynamic.configurations.data };
  },
  async sendReview({ client, body }: ReviewCall): Promise<ReviewReply> {
    turn?.leave();
    const { signal, deadlineMs } = caller;
    const reply = await askingFor(caller, () => dynamic.send(client, asBuffer(body), { signal, deadlineMs }));
    const { status, body: answer, contentType } = reply;
    return { status, contentType, body: ownBytes(answer) };
  },
  webhookObserved: (outcome: WebhookOutcome) => dynamic.observed(outcome),
  conditionsObserved: (outcome: ConditionsOutcome) => dynamic.conditionsObserved(outcome),
  params: ({ kind, ref, namespace }: ParamsCall) => dynamic.params(kind, ref, { namespace, signal: caller.signal }),
  paramKindProblem: (kind: ParamKind) => dynamic.paramKindProblem(kind),
  policyObserved: (outcome: PolicyOutcome) => dynamic.policyObserved(outcome),
});
