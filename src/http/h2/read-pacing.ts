import type { Duplex } from 'node:stream';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inOwnTurn, workBegan } from '../../base/time/turns.ts';
import type { HeldRead } from '../flood-gate.ts';
import type { FrameWriter } from './frame-writer.ts';

interface ReadPacingOptions {
  readonly socket: Duplex;
  readonly clock: Clock;
  readonly writer: FrameWriter;
  /** Reads what was received before the pause. */
  readonly read: () => void;
  /** Takes over the read for later if this connection must wait for others; false if it may be read now. */
  readonly hold: (read: HeldRead) => boolean;
}

/**
 * Pauses the reading of a connection until the client has read its responses, or until other connections had their turn.
 * Each read is `begin`, `mayGoOn` after each frame, and `end`.
 */
export class ReadPacing {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #writer: FrameWriter;
  readonly #read: () => void;
  readonly #hold: ReadPacingOptions['hold'];
  #paused: 'no' | 'later' | 'whenWritten' | 'held' = 'no';
  /** While a read that was held runs: when it ends. */
  #heldUntil: number | undefined;
  /**
   * No request was read yet. The first takes longest (authentication), so many new connections must not share a turn.
   */
  #isNew = true;
  /** Of this read: when it pauses, why it does, and its requests. */
  #until = 0;
  #pause: 'no' | 'later' | 'whenWritten' = 'no';
  #requests = 0;
  /** The frame was the last of a request's headers. */
  #wasRequest = false;

  constructor({ socket, clock, writer, read, hold }: ReadPacingOptions) {
    this.#socket = socket;
    this.#clock = clock;
    this.#writer = writer;
    this.#read = read;
    this.#hold = hold;
  }

  get isPaused(): boolean {
    return this.#paused !== 'no';
  }

  /** The connection waits for others, whatever its client has sent. */
  get isHeld(): boolean {
    return this.#paused === 'held';
  }

  /**
   * False if the connection is to be read later: it must wait for others, or is new and this turn has no time left.
   */
  begin(): boolean {
    if (this.#heldUntil === undefined && this.#hold(this.#release)) {
      this.#set('held');
      return false;
    }
    if (this.#isNew && this.#clock.monotonic() - workBegan(this.#clock) >= limits.turnMs) {
      this.#set('later');
      return false;
    }
    this.#until = this.#heldUntil ?? this.#clock.monotonic() + limits.readSliceMs;
    this.#pause = 'no';
    this.#requests = 0;
    return true;
  }

  /** Called for each request, while its frame is handled. */
  requestRead(): void {
    this.#wasRequest = true;
  }

  mayGoOn(): boolean {
    if (this.#writer.isFull) this.#pause = 'whenWritten';
    else if (this.#wasRequest) {
      this.#isNew = false;
      this.#requests += 1;
      // Connections that send many requests at once share the turn; a single request pays nothing for it.
      if (this.#requests === 2) this.#until = Math.min(this.#until, workBegan(this.#clock) + limits.turnMs);
      if (this.#clock.monotonic() > this.#until) this.#pause = 'later';
    }
    this.#wasRequest = false;
    return this.#pause === 'no';
  }

  end(): void {
    this.#set(this.#pause);
  }

  /** Called when the client has read responses. */
  written(): void {
    if (this.#paused === 'whenWritten' && !this.#writer.isFull) {
      this.#paused = 'later';
      inOwnTurn(() => this.#goOn());
    }
  }

  #set(pause: 'no' | 'later' | 'whenWritten' | 'held'): void {
    if (this.#paused === 'no' && pause !== 'no') this.#socket.pause();
    if (this.#paused !== 'no' && pause === 'no') this.#socket.resume();
    this.#paused = pause;
    if (pause === 'later') inOwnTurn(() => this.#goOn());
  }

  readonly #release = (untilMs: number): void => {
    this.#heldUntil = untilMs;
    this.#read();
    this.#heldUntil = undefined;
  };

  #goOn(): void {
    if (this.#paused === 'later') this.#read();
  }
}
