/**
 * Coalesces concurrent reads. A call never shares a read that began before the call, so its result is not older than
 * the call: calls that arrive during a read share the next one.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  get(): Promise<T> {
    if (!this.#running) return this.#start();
    const start = () => this.#start();
    this.#next ??= this.#running.then(start, start);
    return this.#next;
  }

  #start(): Promise<T> {
    const running = this.#read().finally(() => {
      if (!this.#next) this.#running = undefined;
    });
    this.#running = running;
    this.#next = undefined;
    return running;
  }
}
