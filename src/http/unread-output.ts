import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Sender } from './flood-gate.ts';

/** A connection whose socket may hold output that its client does not read. */
export interface OutputHolder {
  /** Undefined: of one who is never limited. */
  readonly sender: Sender | undefined;
  /** Bytes that the socket has not handed to the system, and all that it has. */
  readonly pendingBytes: number;
  readonly writtenBytes: number;
  /** Bytes of answers that wait in front of the socket. */
  readonly unsentBytes: number;
  /** Closes the connection immediately. */
  cutOff(): void;
}

/** What the last look has found of a connection. */
interface Seen {
  writtenBytes: number;
  looks: number;
}

/**
 * Bounds the memory of clients that do not read from their sockets, for each sender: what a socket holds is copied and
 * encrypted, so that flow control of streams does not bound it. Looks at all connections at intervals, which costs readers
 * nothing. Of a sender that holds too much, the connections that have taken nothing for longest are closed.
 */
export class UnreadOutput implements Closable {
  readonly #clock: Clock;
  readonly #holders: () => Iterable<OutputHolder>;
  readonly #seen = new WeakMap<OutputHolder, Seen>();
  #timer: Closable | undefined;

  constructor(clock: Clock, holders: () => Iterable<OutputHolder>) {
    this.#clock = clock;
    this.#holders = holders;
    this.#schedule();
  }

  close(): void {
    this.#timer?.close();
  }

  #schedule(): void {
    this.#timer = this.#clock.after(limits.unreadLookMs, () => {
      this.#look();
      this.#schedule();
    });
  }

  #look(): void {
    const bySender = Map.groupBy(this.#waiting(), ({ sender }) => sender);
    for (const found of bySender.values()) if (sum(found) > limits.unreadOutputBytesMax) cutOldest(found);
  }

  /** The connections that hold output now. */
  *#waiting(): Generator<Found> {
    for (const holder of this.#holders()) {
      const { pendingBytes, sender } = holder;
      if (pendingBytes === 0 || sender === undefined) continue;
      const { writtenBytes } = holder;
      let seen = this.#seen.get(holder);
      if (!seen) {
        seen = { writtenBytes, looks: 0 };
        this.#seen.set(holder, seen);
      }
      seen.looks = seen.writtenBytes === writtenBytes ? seen.looks + 1 : 0;
      seen.writtenBytes = writtenBytes;
      yield { holder, sender, bytes: memoryOf(holder), looks: seen.looks };
    }
  }
}

interface Found {
  readonly holder: OutputHolder;
  readonly sender: Sender;
  readonly bytes: number;
  /** How often nothing had been taken since the look before. */
  readonly looks: number;
}

const sum = (found: readonly Found[]): number => found.reduce((bytes, each) => bytes + each.bytes, 0);

/** The buffer that was written may still be held beside its encrypted copy. */
const memoryOf = ({ pendingBytes, unsentBytes }: OutputHolder): number =>
  limits.unreadConnectionBytes + 2 * pendingBytes + unsentBytes;

/** Connections that were seen to take something lately count as readers, and stay. */
function cutOldest(found: readonly Found[]): void {
  const stalled = found.filter(({ looks }) => looks * limits.unreadLookMs >= limits.unreadStalledMs);
  stalled.sort((a, b) => b.looks - a.looks);
  let held = sum(stalled);
  for (const { holder, bytes } of stalled) {
    if (held <= limits.unreadOutputBytesMax) return;
    held -= bytes;
    holder.cutOff();
  }
}
