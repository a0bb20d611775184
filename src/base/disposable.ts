/** Something that holds a listener, timer, watch or worker. Disposing twice is the same as once. */
export interface Closable {
  close(): void;
}

/** A set of closables that end together, in reverse order of being added. */
export class ClosableStack implements Closable {
  readonly #held: Closable[] = [];
  #closed = false;

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Adds a closable, or closes it at once when the stack is closed already. */
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
