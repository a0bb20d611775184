import type { Duplex } from 'node:stream';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inOwnTurn, workBegan } from '../../base/time/turns.ts';
import type { FrameWriter } from './frame-writer.ts';

interface ReadPacingOptions {
  readonly socket: Duplex;
  readonly clock: Clock;
  readonly writer: FrameWriter;
  /** Reads what was received before the pause. */
  readonly read: () => void;
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
  #paused: 'no' | 'later' | 'whenWritten' = 'no';
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

  constructor({ socket, clock, writer, read }: ReadPacingOptions) {
    this.#socket = socket;
    this.#clock = clock;
    this.#writer = writer;
    this.#read = read;
  }

  get isPaused(): boolean {
    return this.#paused !== 'no';
  }

  /** False if this turn has no time left for a new connection: it is read in another turn. */
  begin(): boolean {
    if (this.#isNew && this.#clock.monotonic() - workBegan(this.#clock) >= limits.turnMs) {
      this.#set('later');
      return false;
    }
    this.#until = this.#clock.monotonic() + limits.readSliceMs;
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

  #set(pause: 'no' | 'later' | 'whenWritten'): void {
    if (this.#paused === 'no' && pause !== 'no') this.#socket.pause();
    if (this.#paused !== 'no' && pause === 'no') this.#socket.resume();
    this.#paused = pause;
    if (pause === 'later') inOwnTurn(() => this.#goOn());
  }

  #goOn(): void {
    if (this.#paused === 'later') this.#read();
  }
}
