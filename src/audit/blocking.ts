import { Roster } from '../base/collections/roster.ts';
import { limits } from '../base/limits.ts';
import type { AuditBackend, AuditSink } from './backend.ts';
import type { EncodedEvent } from './event-encoder.ts';
import type { AuditPlugin, LostEvents } from './lost-events.ts';

interface BlockingParts {
  readonly sink: AuditSink;
  readonly plugin: AuditPlugin;
  readonly lost: LostEvents;
  /** Whether a request must not go on if its event cannot be recorded. */
  readonly strict: boolean;
}

/** Modes `blocking` and `blocking-strict`: requests wait until their events are recorded. */
export function blockingBackend({ sink, plugin, lost, strict }: BlockingParts): AuditBackend {
  const underWay = new Roster<Promise<unknown>>();
  let waitingBytes = 0;
  const send = async (event: EncodedEvent, bytes: number): Promise<boolean> => {
    try {
      await sink.send([event]);
      return true;
    } catch (error) {
      lost(plugin, 1, error);
      return !strict;
    } finally {
      waitingBytes -= bytes;
    }
  };
  return {
    process(event) {
      const { bytes } = event;
      if (waitingBytes + bytes > limits.auditWaitingBytesMax && waitingBytes > 0) {
        lost(plugin, 1, new Error('too many events wait to be written'));
        return !strict;
      }
      waitingBytes += bytes;
      const sent = send(event, bytes);
      const place = underWay.add(sent);
      const done = (): void => void underWay.delete(place, sent);
      sent.then(done, done);
      return sent;
    },
    async close() {
      sink.hurry();
      await Promise.all(underWay);
      await sink.close();
    },
  };
}
