import { limits } from '../base/limits.ts';
import type { Random } from '../base/random.ts';
import { Backoff } from '../base/time/backoff.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { WebhookSender } from '../outbound/webhook-sender.ts';
import type { AuditSink } from './backend.ts';
import type { EncodedEvent } from './event-encoder.ts';

interface WebhookSinkParts {
  readonly sender: WebhookSender;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  /** Delay before the second attempt; it grows by half. Milliseconds. */
  readonly initialBackoffMs: number;
}

/**
 * Posts events as an EventList. Any failure is followed by another attempt, `limits.webhookAttemptsMax` in all: unlike
 * a question, an event must arrive even if the answer says that it never will. An event may arrive more than once.
 */
export function webhookSink({ sender, dialect, clock, random, initialBackoffMs }: WebhookSinkParts): AuditSink {
  const head = Buffer.from(`{"kind":"EventList","apiVersion":"${dialect.group('audit')}/v1","metadata":{},"items":[`);
  const hurried = new AbortController();
  const post = async (body: Buffer): Promise<void> => {
    const { status } = await sender.send(body);
    if (status < 200 || status > 299) throw new Error(`the webhook answered ${status}`);
  };
  return {
    async send(events) {
      const body = listOf(head, events);
      const backoff = new Backoff({ firstMs: initialBackoffMs, maxMs: Number.POSITIVE_INFINITY, growth: 1.5 }, random);
      for (let attempts = 1; ; attempts++) {
        const last = attempts === limits.webhookAttemptsMax || hurried.signal.aborted;
        try {
          return await post(body);
        } catch (error) {
          if (last) throw error;
        }
        await pause(clock, backoff.next(), hurried.signal);
      }
    },
    hurry: () => hurried.abort(),
    async close() {
      sender.close();
    },
  };
}

const [separator, tail] = [Buffer.from(','), Buffer.from(']}')];

const listOf = (head: Buffer, events: readonly EncodedEvent[]): Buffer =>
  Buffer.concat([head, ...events.flatMap(({ parts }, index) => (index === 0 ? parts : [separator, ...parts])), tail]);
