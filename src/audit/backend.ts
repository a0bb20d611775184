import type { EncodedEvent } from './event-encoder.ts';

/** Records events. */
export interface AuditBackend {
  /** Of an event without objects nothing is needed any more when `process` has returned. */
  readonly writesAtOnce?: boolean;
  /**
   * False if the event could not be recorded and its request must not go on without; such a loss, like any other, is
   * counted and logged by whoever finds it. A promise if the request must wait. Never throws or rejects.
   */
  process(event: EncodedEvent): boolean | Promise<boolean>;
  /** Resolves when all events processed so far were recorded, or lost for good. Never rejects. */
  close(): Promise<void>;
}

/** Where a backend's events go in the end: a file, or another server. */
export interface AuditSink {
  /** Rejects with the reason if any of the events may not have been recorded. */
  send(events: readonly EncodedEvent[]): Promise<void>;
  /** Ends waiting for another attempt: what was sent is tried once more, at once. */
  hurry(): void;
  close(): Promise<void>;
}
