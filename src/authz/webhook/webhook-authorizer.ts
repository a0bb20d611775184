import { hash } from 'node:crypto';
import type { Caller } from '../../base/caller.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { SingleFlight } from '../../base/single-flight.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { AuthorizationMetrics } from '../authorization-metrics.ts';
import type { Attributes, Authorizer, Decision } from '../authorizer.ts';
import { DecisionCache } from './decision-cache.ts';
import type { MatchConditions } from './match-conditions.ts';
import { type ReviewSpec, type ReviewVersion, reviewBody, reviewSpec } from './review.ts';
import { readReviewResponse } from './review-response.ts';
import { callWebhook, WebhookFailure, type WebhookSend } from './round-trips.ts';

/** Decision for requests for which the webhook or its match conditions fail. */
export type FailurePolicy = 'NoOpinion' | 'Deny';

export interface WebhookAuthorizerOptions {
  /** Used in metrics, logs and reviews. */
  readonly name: string;
  readonly send: WebhookSend;
  readonly version: ReviewVersion;
  /** Full name of the API group of SubjectAccessReview. */
  readonly group: string;
  /** Timeout of one round trip, in milliseconds. */
  readonly timeoutMs: number;
  /** How long positive and negative decisions are cached, in milliseconds; 0 disables the cache. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly failurePolicy: FailurePolicy;
  /** Default: the webhook is called for every request. */
  readonly conditions?: MatchConditions | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: AuthorizationMetrics;
}

/**
 * Delegates decisions to a remote service by SubjectAccessReview (mode `Webhook`, spec section 5.7). Decisions are cached, and
 * cached ones are returned synchronously; concurrent equal requests share one call. Failures are not cached: the failure policy
 * decides, and the next request calls the webhook again.
 *
 * Closing it fails the calls in flight.
 */
export class WebhookAuthorizer implements Authorizer, Closable {
  readonly #options: WebhookAuthorizerOptions;
  readonly #apiVersion: string;
  readonly #allowed: DecisionCache;
  /** Separate from the allowed ones, so that a flood of refused requests cannot evict those. */
  readonly #refused: DecisionCache;
  readonly #asked = new SingleFlight<Decision>();
  readonly #closed = new AbortController();
  /** Monotonic time of the last log entry for each kind of failure. */
  readonly #reportedAt = { webhook: Number.NEGATIVE_INFINITY, conditions: Number.NEGATIVE_INFINITY };
  #reportedDown = false;

  constructor(options: WebhookAuthorizerOptions) {
    const { clock, group, version, authorizedTtlMs, unauthorizedTtlMs } = options;
    const countMax = limits.authorizationAnswersKept;
    this.#options = options;
    this.#apiVersion = `${group}/${version}`;
    this.#allowed = new DecisionCache({ clock, ttlMs: authorizedTtlMs, countMax });
    this.#refused = new DecisionCache({ clock, ttlMs: unauthorizedTtlMs, countMax });
  }

  authorize(attributes: Attributes, user: UserInfo, caller?: Caller): Decision | Promise<Decision> {
    const spec = reviewSpec(attributes, user);
    const unasked = this.#checkConditions(spec);
    if (unasked) return unasked;
    const question = hash('sha256', JSON.stringify(spec), 'base64');
    const known = this.#allowed.get(question) ?? this.#refused.get(question);
    if (known) return known;
    return this.#asked.run(question, (all) => this.#ask(spec, question, isKept(attributes), all), caller);
  }

  close(): void {
    this.#closed.abort(new Error('the server stops'));
  }

  /** The decision if the conditions exclude the webhook or fail; undefined if it must be called. */
  #checkConditions(spec: ReviewSpec): Decision | undefined {
    const { conditions, clock, metrics, name } = this.#options;
    if (!conditions) return undefined;
    const start = clock.monotonic();
    const match = conditions.evaluate(spec);
    metrics.conditionsEvaluated(name, (clock.monotonic() - start) / 1000);
    switch (match.type) {
      case 'match':
        return undefined;
      case 'excluded':
        metrics.conditionsExcluded(name);
        return noOpinion;
      case 'failed':
        metrics.conditionsFailed(name);
        return this.#conditionsFailed(match.errors.join('; '));
    }
  }

  async #ask(spec: ReviewSpec, question: string, kept: boolean, all: Caller): Promise<Decision> {
    const signal = AbortSignal.any([this.#closed.signal, all.signal]);
    try {
      const body = reviewBody(spec, { apiVersion: this.#apiVersion, version: this.#options.version });
      const read = (answer: Uint8Array): Decision => readReviewResponse(answer, this.#apiVersion);
      const decision = await callWebhook(this.#options, body, read, { signal, span: all.span });
      if (kept) (decision.verdict === 'allow' ? this.#allowed : this.#refused).set(question, decision);
      this.#answered();
      return decision;
    } catch (error) {
      if (all.signal.aborted || !(error instanceof WebhookFailure)) throw error;
      return this.#failed(error);
    }
  }

  #failed(failure: WebhookFailure): Decision {
    const { failurePolicy, metrics, name } = this.#options;
    if (!this.#closed.signal.aborted) {
      if (failurePolicy === 'NoOpinion') metrics.failedOpen(name, failure.result);
      this.#report(failure);
    }
    return this.#undecided(failure.message);
  }

  #report({ message, cause }: WebhookFailure): void {
    if (!this.#isReportDue('webhook')) return;
    this.#reportedDown = true;
    const { logger, name, failurePolicy } = this.#options;
    const why = cause instanceof Error ? { cause: cause.message } : {};
    logger.error('an authorization webhook fails', { webhook: name, failurePolicy, problem: message, ...why });
  }

  #conditionsFailed(problem: string): Decision {
    const { logger, name, failurePolicy } = this.#options;
    if (this.#isReportDue('conditions')) {
      logger.error('match conditions of an authorization webhook fail', { webhook: name, failurePolicy, problem });
    }
    return this.#undecided(problem);
  }

  /** Limits the log rate: failures may occur on every request. */
  #isReportDue(what: 'webhook' | 'conditions'): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#reportedAt[what] < limits.authorizationFailureReportMs) return false;
    this.#reportedAt[what] = now;
    return true;
  }

  #answered(): void {
    if (!this.#reportedDown) return;
    this.#reportedDown = false;
    this.#options.logger.info('an authorization webhook answers again', { webhook: this.#options.name });
  }

  #undecided(problem: string): Decision {
    const { failurePolicy, name } = this.#options;
    return {
      verdict: failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
      reason: '',
      evaluationError: `authorization webhook ${JSON.stringify(name)}: ${problem}`,
    };
  }
}

const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

/** Requests whose client-controlled text is too long are not cached. */
function isKept(attributes: Attributes): boolean {
  const { verb } = attributes;
  const texts =
    attributes.type === 'path'
      ? [verb, attributes.path]
      : [
          verb,
          attributes.group,
          attributes.version,
          attributes.resource,
          attributes.subresource,
          attributes.namespace,
          attributes.name,
        ];
  return texts.reduce((length, text) => length + text.length, 0) < limits.authorizationQuestionLengthKept;
}
