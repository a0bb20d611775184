import type { Caller } from './caller.ts';
import type { Span } from './span.ts';
import { untilAborted } from './time/until-aborted.ts';

/**
 * Coalesces concurrent calls with the same key into one, whose result all callers share. The call is aborted when all
 * of them have given up; a later caller starts a new one.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /**
   * Runs `call` unless one with that key is in progress; a result returned synchronously is not shared. Rejects with
   * the reason of the caller's signal if that aborts. A caller without a signal waits until the end.
   */
  run(key: string, call: (all: Caller) => T | Promise<T>, caller?: Caller): T | Promise<T> {
    const running = this.#flights.get(key);
    if (running) return running.join(caller);
    const flight = new Flight<T>((ended) => {
      if (this.#flights.get(key) === ended) this.#flights.delete(key);
    }, caller?.span);
    const answer = call(flight);
    if (!(answer instanceof Promise)) return answer;
    this.#flights.set(key, flight);
    return flight.begin(answer, caller);
  }
}

class Flight<T> implements Caller {
  readonly #ended: (flight: Flight<T>) => void;
  readonly span: Span | undefined;
  #controller: AbortController | undefined;
  #answer: Promise<T> | undefined;
  #waiting = 0;

  constructor(ended: (flight: Flight<T>) => void, span: Span | undefined) {
    this.#ended = ended;
    this.span = span;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  begin(answer: Promise<T>, caller: Caller | undefined): Promise<T> {
    this.#answer = answer.finally(() => this.#ended(this));
    return this.join(caller);
  }

  join(caller: Caller | undefined): Promise<T> {
    const answer = this.#answer as Promise<T>;
    this.#waiting += 1;
    return caller ? this.#waitAs(caller.signal, answer) : answer;
  }

  async #waitAs(signal: AbortSignal, answer: Promise<T>): Promise<T> {
    try {
      return await untilAborted(answer, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && signal.aborted) this.#abandon(signal.reason);
    }
  }

  #abandon(reason: unknown): void {
    this.#ended(this);
    this.#controller?.abort(reason);
  }
}
