import type { LogOutput } from '../base/log-output.ts';
import type { AuditSink } from './backend.ts';
import type { EncodedEvent } from './event-encoder.ts';
import { microTimes } from './event-encoder.ts';
import { legacyLine } from './legacy-line.ts';

export type LogFormat = 'json' | 'legacy';

const lineEnd = '\n';

/** Writes events to a log, one per line. */
export function logSink(output: LogOutput, format: LogFormat): AuditSink {
  const time = microTimes();
  const lineOf = ({ event, parts }: EncodedEvent): readonly (string | Uint8Array)[] =>
    format === 'legacy' ? [legacyLine(event, time)] : parts;
  return {
    send: (events) => output.write(events.map((event) => [...lineOf(event), lineEnd])),
    hurry() {},
    close: () => output.close(),
  };
}
