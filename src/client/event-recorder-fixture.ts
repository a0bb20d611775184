import type { ReportedEvent } from './event-correlation.ts';
import type { EventRecorder } from './event-recorder.ts';

/** Keeps what is reported; nothing is sent. */
export class KeptEvents implements EventRecorder {
  readonly events: ReportedEvent[] = [];

  record(event: ReportedEvent): void {
    this.events.push(event);
  }
}
