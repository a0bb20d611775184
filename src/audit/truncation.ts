import type { AuditBackend } from './backend.ts';
import type { EncodedEvent, EventEncoder } from './event-encoder.ts';
import type { LostEvents } from './lost-events.ts';

interface TruncationParts {
  readonly encoder: Pick<EventEncoder, 'truncated'>;
  readonly lost: LostEvents;
  /** Longest JSON of an event. */
  readonly eventBytesMax: number;
}

/** Leaves the objects out of events that are too large with them, and drops events that are too large without. */
export function truncating(inner: AuditBackend, { encoder, lost, eventBytesMax }: TruncationParts): AuditBackend {
  const fit = (encoded: EncodedEvent): EncodedEvent | undefined => {
    if (encoded.bytes <= eventBytesMax) return encoded;
    const { level } = encoded.event;
    const shorter = level === 'Request' || level === 'RequestResponse' ? encoder.truncated(encoded.event) : encoded;
    if (shorter.bytes <= eventBytesMax) return shorter;
    lost('truncate', 1, new Error('event is too large even after truncating'));
    return undefined;
  };
  return {
    process(event) {
      const fitting = fit(event);
      return fitting === undefined || inner.process(fitting);
    },
    close: () => inner.close(),
  };
}
