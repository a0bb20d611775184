import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import { formatTime } from '../meta/time.ts';
import { type ApiClient, ApiError, hasCause, hasReason } from './api-client.ts';
import { type CorrelatedEvent, EventCorrelation, type ReportedEvent } from './event-correlation.ts';
import { resourcePath } from './resource-path.ts';

/** Reports what happened to objects, for the people who look after them. */
export interface EventRecorder {
  /** Returns at once and never throws. Delivery is best effort, in order; equal events are stored as one with a count. */
  record(event: ReportedEvent): void;
}

interface EventRecorderOptions {
  /** Must be allowed to create and patch `events`. */
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Name of the reporter. */
  readonly component: string;
}

/** Namespace of events about cluster-scoped objects, in kube-apiserver and in ours. */
const clusterNamespace = 'default';

/** Records events of one component as Events of the core group, as client-go does (see `EventCorrelation` for its bounds). */
export class ApiEventRecorder implements EventRecorder, Closable {
  readonly #options: EventRecorderOptions;
  readonly #correlation: EventCorrelation;
  readonly #stop = new AbortController();
  /** Events to write, by series: a later count replaces an earlier one that has not been sent. */
  readonly #waiting = new Map<string, CorrelatedEvent>();
  #sending = false;
  /** Aborted when all is sent. */
  #idle = new AbortController();
  /** A failure has been logged since the last success. */
  #failing = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#correlation = new EventCorrelation(options.clock);
  }

  record(reported: ReportedEvent): void {
    if (this.#stop.signal.aborted) return;
    const event = this.#correlation.correlate(reported);
    if (!event) return;
    if (this.#waiting.size >= limits.eventsWaitingMax && !this.#waiting.has(event.series)) {
      this.#report('an event is dropped: too many wait to be written', event);
      return;
    }
    this.#waiting.set(event.series, event);
    if (!this.#sending) void this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    this.#idle = new AbortController();
    for (const [series, event] of this.#waiting) {
      this.#waiting.delete(series);
      await this.#send(event);
      if (this.#stop.signal.aborted) break;
    }
    this.#sending = false;
    this.#idle.abort();
  }

  /** Tries until the server answers, a limited number of times. Never rejects. */
  async #send(event: CorrelatedEvent): Promise<void> {
    const { clock, random } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#write(event);
        this.#failing = false;
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isFinal(error) || attempt >= limits.eventAttemptsMax)
          return this.#report('an event is not written', event, error);
      }
      // Reporters that lost the same server do not return to it all at once.
      const part = attempt === 1 ? (random.bytes(1)[0] ?? 0) / 256 : 1;
      await pause(clock, limits.eventRetryMs * part, this.#stop.signal);
    }
  }

  async #write(event: CorrelatedEvent): Promise<void> {
    const { client } = this.#options;
    const { count, lastMs, message } = event;
    const location = { resource: 'events', namespace: event.about.namespace || clusterNamespace };
    if (count > 1) {
      const patch = { count, lastTimestamp: formatTime(lastMs), message };
      try {
        await client.mergePatchMetadata(resourcePath({ ...location, name: event.name }), patch, this.#stop.signal);
        return;
      } catch (error) {
        // Not created yet, or expired.
        if (!hasReason(error, 'NotFound')) throw error;
      }
    }
    try {
      await client.create(resourcePath(location), this.#objectOf(event), this.#stop.signal);
    } catch (error) {
      // An earlier attempt was answered too late.
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }

  #objectOf({ about, name, type, reason, message, count, firstMs, lastMs }: CorrelatedEvent): object {
    const { component } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: about.namespace || clusterNamespace },
      involvedObject: about,
      ...{ reason, message, type, count },
      source: { component },
      firstTimestamp: formatTime(firstMs),
      lastTimestamp: formatTime(lastMs),
      reportingComponent: component,
      reportingInstance: '',
    };
  }

  /** Logs the first failure until an event is written again: a reporter without permission fails each time. */
  #report(message: string, { about, reason }: CorrelatedEvent, error?: unknown): void {
    const { logger, component } = this.#options;
    const { kind, namespace, name } = about;
    const fields = { component, kind, namespace, name, reason, ...(error !== undefined && { error }) };
    if (this.#failing || hasCause(error, 'NamespaceTerminating')) logger.debug(message, fields);
    else logger.warn(message, fields);
    this.#failing = true;
  }

  /** Waits until all events are written, but no longer than this. Events may still be recorded meanwhile. */
  async flush(patienceMs: number): Promise<void> {
    const patience = AbortSignal.any([this.#stop.signal, this.#idle.signal]);
    if (this.#sending) await pause(this.#options.clock, patienceMs, patience);
  }

  /** Aborts the request in progress; events not yet written are lost. */
  close(): void {
    this.#stop.abort(new Error('the recorder was closed'));
    this.#waiting.clear();
  }
}

/** The server refused the event itself. Any other failure may pass. */
const isFinal = (error: unknown): boolean => error instanceof ApiError && error.code < 500 && error.code !== 429;
