/** An object that holds a listener, timer, watch or worker. Closing is idempotent. */
export interface Closable {
  close(): void;
}

/** A set of closables that are closed together, in reverse order of addition. */
export class ClosableStack implements Closable {
  readonly #held: Closable[] = [];
  #closed = false;

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Adds a closable, or closes it at once if the stack is already closed. */
  add<T extends Closable>(closable: T): T {
    if (this.#closed) closable.close();
    else this.#held.push(closable);
    return closable;
  }

  close(): void {
    this.#closed = true;
    for (let held = this.#held.pop(); held; held = this.#held.pop()) held.close();
  }
}
