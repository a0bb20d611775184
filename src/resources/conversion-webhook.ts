import type { Closable } from '../base/disposable.ts';
import type { Files } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Random } from '../base/random.ts';
import { type Span, spanning } from '../base/span.ts';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import { StatusError } from '../meta/status-error.ts';
import { problemOfAnswer } from '../outbound/describe-answer.ts';
import type { Network } from '../outbound/network.ts';
import { type WebhookSender, webhookSender } from '../outbound/webhook-sender.ts';
import { failedCall, noSuchService, type WebhookTarget, webhookUrl } from '../outbound/webhook-target.ts';
import {
  ConversionError,
  type ConversionFailure,
  type ConversionQuestion,
  describeKind,
  encodeQuestion,
  headOf,
  readConverted,
  reviewVersionOf,
} from './conversion-review.ts';
import type { ConversionCaller } from './custom-versions.ts';
import type { HeavyConversion } from './heavy-conversion.ts';

/** How a definition says that its objects are converted. A Service is nothing that can be reached here. */
export interface ConversionWebhookConfig extends WebhookTarget {
  /** Name of the definition. */
  readonly definition: string;
  /** PEM; undefined: the authorities of the operating system. */
  readonly authorities: string | undefined;
  /** Versions of ConversionReview that it understands. */
  readonly reviewVersions: readonly string[];
}

/** What became of one question. */
export interface ConversionOutcome {
  readonly definition: string;
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly seconds: number;
  /** Undefined if it succeeded. */
  readonly failure: ConversionFailure | undefined;
}

export interface ConversionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly dialect: Dialect;
  readonly network: Network;
  readonly files: Files;
  readonly heavy: HeavyConversion;
  readonly observed: (outcome: ConversionOutcome) => void;
}

/** A webhook that converts the objects of a definition. */
export class ConversionWebhook implements Closable {
  readonly #config: ConversionWebhookConfig;
  readonly #parts: ConversionParts;
  readonly #sender: WebhookSender | undefined;
  #asked = 0;
  #retired = false;

  constructor(config: ConversionWebhookConfig, parts: ConversionParts) {
    this.#config = config;
    this.#parts = parts;
    if (config.url === undefined) return;
    const { clock, network, files } = parts;
    this.#sender = webhookSender(
      {
        ...{
          server: webhookUrl(config, limits.conversionMsMax),
          authorities: config.authorities,
          serverName: undefined,
          insecure: false,
        },
        ...{ credential: { type: 'stored' }, impersonation: undefined },
      },
      {
        ...{ clock, network, files, pluginHost: noPlugins, userAgent: 'orch' },
        timeoutMs: limits.conversionMsMax,
        answerBytesMax: limits.conversionAnswerBytesMax,
      },
    );
  }

  /**
   * Objects as they are stored in the version of a kind, at most `limits.conversionObjectsMax`, none of which is in it. Rejects with
   * a StatusError that has the published text. Goes on when its callers have gone: others may share the result.
   */
  async convert(objects: readonly Buffer[], kind: Kind, caller: ConversionCaller): Promise<readonly Buffer[]> {
    const { random, dialect, clock } = this.#parts;
    const version = reviewVersionOf(this.#config.reviewVersions);
    if (!version) throw failed('no supported conversion review versions');
    const question = { version, dialect, uid: random.uuid(), objects, apiVersion: apiVersionOf(kind) };
    const began = clock.monotonic();
    this.#asked += 1;
    try {
      const converted = await this.#traced(question, caller.span, (call) =>
        this.#ask(question, kind, { span: call, owner: caller.owner }),
      );
      this.#observe(question, began, undefined);
      return converted;
    } catch (error) {
      const known = error instanceof ConversionError ? error : undefined;
      this.#observe(question, began, known?.failure ?? 'call');
      if (error instanceof StatusError) throw error;
      throw failed(known?.message ?? `conversion webhook for ${this.#config.definition} failed`, error);
    } finally {
      this.#asked -= 1;
      this.#closeRetired();
    }
  }

  async #ask(question: ConversionQuestion, kind: Kind, { span, owner }: ConversionCaller): Promise<readonly Buffer[]> {
    const answer = await this.#send(question, span);
    span?.event('Request completed');
    if (isHeavy(answer, question)) return this.#parts.heavy.read(answer, question, kind, owner);
    const slice = new TimeSlice(this.#parts.clock);
    if (slice.over) await slice.next();
    const converted: Buffer[] = [];
    for (const each of readConverted(answer, question, kind)) {
      converted.push(each);
      if (slice.over) await slice.next();
    }
    return converted;
  }

  async #send(question: ConversionQuestion, span: Span | undefined): Promise<Buffer> {
    const kind = describeKind(headOf(question.objects[0] as Buffer));
    const fail = (why: string, cause?: unknown): ConversionError =>
      new ConversionError('call', `conversion webhook for ${kind} failed: ${why}`, { cause });
    if (!this.#sender) {
      throw fail(failedCall(this.#config, limits.conversionMsMax, noSuchService(this.#config)));
    }
    // Only its deadline aborts it: others may share the result.
    const caller = { signal: new AbortController().signal, span };
    const answer = await this.#sender.send(encodeQuestion(question), caller).catch((error) => {
      throw fail(failedCall(this.#config, limits.conversionMsMax, error), error);
    });
    const problem = problemOfAnswer(answer);
    if (problem) throw fail(problem.message);
    return answer.body;
  }

  #traced<T>(
    { uid, objects, apiVersion }: ConversionQuestion,
    span: Span | undefined,
    work: (span: Span | undefined) => Promise<T>,
  ): Promise<T> {
    if (!span) return work(undefined);
    const call = span.child('Call conversion webhook', {
      'custom-resource-definition': this.#config.definition,
      'desired-api-version': apiVersion,
      'object-count': objects.length,
      UID: uid,
    });
    return spanning(call, () => work(call));
  }

  #observe({ objects, apiVersion }: ConversionQuestion, began: number, failure: ConversionFailure | undefined): void {
    const { definition } = this.#config;
    const seconds = (this.#parts.clock.monotonic() - began) / 1000;
    const fromVersion = versionOf(headOf(objects[0] as Buffer).apiVersion);
    this.#parts.observed({ definition, fromVersion, toVersion: versionOf(apiVersion), seconds, failure });
  }

  /** Closes once its questions are answered: another webhook is asked from now on. */
  retire(): void {
    this.#retired = true;
    this.#closeRetired();
  }

  #closeRetired(): void {
    if (this.#retired && this.#asked === 0) this.close();
  }

  /** Aborts the questions. */
  close(): void {
    this.#sender?.close();
  }
}

/** Whether reading it would hold the event loop too long. Parsing the answer is one step, reading each of its objects another. */
function isHeavy(answer: Buffer, { objects }: ConversionQuestion): boolean {
  const { conversionInlineBytesMax, conversionsInlineBytesMax, inlineBytesMax } = limits;
  const bytesMax = objects.length === 1 ? conversionInlineBytesMax : conversionsInlineBytesMax;
  return answer.length > bytesMax || objects.some(({ length }) => length > inlineBytesMax);
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

const noPlugins = { environment: {}, interactive: false, stderr() {} };

const failed = (message: string, cause?: unknown): StatusError => new StatusError('InternalError', message, { cause });
