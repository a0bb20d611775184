import type { Caller } from '../../base/caller.ts';
import type { Random } from '../../base/random.ts';
import { type Span, spanning } from '../../base/span.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { type Answered, problemOfAnswer } from '../../outbound/describe-answer.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import type { Matched } from '../matching/match-index.ts';
import { operationName } from '../matching/match-rules.ts';
import { encodeReview, encodeReviewed, type Question } from './admission-review.ts';
import { type ReviewAnswer, readAnswer, UnusableAnswer } from './review-answer.ts';
import type { Webhook, WebhookClient } from './webhook.ts';

/** Sends the body of a review. Rejects if no answer comes, with what happened. */
export type SendReview = (client: WebhookClient, body: Buffer, caller: Caller) => Promise<Answered>;

export interface CallParts {
  readonly dialect: Dialect;
  readonly random: Random;
  readonly send: SendReview;
}

/** A call that failed: the failure policy of the webhook decides what becomes of the request. */
export class CallFailure extends Error {
  /** Status code, as metrics report it. */
  readonly code: number;

  constructor(message: string, code: number, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CallFailure';
    this.code = code;
  }
}

/** JSON of the objects in the version that a webhook asks for; `null` if there is none. */
type ShownObjects = Pick<Question, 'object' | 'old'>;

/** The objects of one request as its webhooks are shown them: each version is converted and encoded once. */
export class ReviewedObjects {
  readonly #attributes: AdmissionAttributes;
  readonly #old = new Map<string, Promise<Buffer> | Buffer>();
  readonly #object = new Map<string, Promise<Buffer> | Buffer>();
  /** Replacements of the object when it was encoded. */
  #at = 0;

  constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  /** Rejects if a conversion fails, which is no failure of the webhook. */
  async shown(as: ServedKind): Promise<ShownObjects> {
    return { object: await this.#objectAs(as), old: await this.#encoded(this.#old, this.#attributes.old, as) };
  }

  #objectAs(as: ServedKind): Promise<Buffer> | Buffer {
    const { object, replacements } = this.#attributes;
    if (replacements !== this.#at) this.#object.clear();
    this.#at = replacements;
    return this.#encoded(this.#object, object, as);
  }

  #encoded(
    known: Map<string, Promise<Buffer> | Buffer>,
    object: ApiObject | undefined,
    as: ServedKind,
  ): Promise<Buffer> | Buffer {
    const key = `${as.group}/${as.version}`;
    const found = known.get(key);
    if (found) return found;
    const converted = object && this.#attributes.inVersion(object, as);
    const encoded = converted instanceof Promise ? converted.then(encodeReviewed) : encodeReviewed(converted);
    known.set(key, encoded);
    return encoded;
  }
}

/** Calls a webhook about objects as it is shown them. Throws a CallFailure. */
export async function callWebhook(
  { item: webhook, as }: Matched<Webhook>,
  { object, old }: ShownObjects,
  attributes: AdmissionAttributes,
  { dialect, random, send }: CallParts,
): Promise<ReviewAnswer> {
  const { reviewVersion: version, type, client } = webhook;
  if (!version) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
    throw new CallFailure(`could not create admission objects: ${why}`, 400);
  }
  const uid = random.uuid();
  const review = encodeReview({ dialect, version, uid, attributes, as, object, old });
  return traced(webhook, uid, attributes, async (span) => {
    const ask = () =>
      send(client, review, { signal: attributes.signal, deadlineMs: attributes.deadlineMs, span }).catch((error) => {
        // The request has ended, or too many wait: that is no failure of the webhook, which a policy could ignore.
        if (error instanceof StatusError) throw error;
        throw new CallFailure(`failed to call webhook: ${messageOf(error)}`, unusable, { cause: error });
      });
    const answer = await attributes.awaitWebhook(ask);
    const problem = problemOfAnswer(answer);
    if (problem) throw new CallFailure(`failed to call webhook: ${problem.message}`, problem.code ?? unusable);
    span?.event('Request completed');
    try {
      return readAnswer(answer.body, { dialect, version, uid, type });
    } catch (error) {
      throw error instanceof UnusableAnswer ? new CallFailure(error.message, error.code, { cause: error }) : error;
    }
  });
}

/** Code of whatever goes wrong before there is an answer that can be read. */
const unusable = 400;

function traced<T>(
  { type, name, configuration }: Webhook,
  uid: string,
  attributes: AdmissionAttributes,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const { span, info } = attributes;
  if (!span) return work(undefined);
  const call = span.child(type === 'admit' ? 'Call mutating webhook' : 'Call validating webhook', {
    configuration,
    webhook: name,
    resource: `${info.group}/${info.version}, Resource=${info.resource}`,
    subresource: info.subresource,
    operation: operationName(attributes),
    UID: uid,
  });
  return spanning(call, () => work(call));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
