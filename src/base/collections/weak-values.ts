/** Values by key, each kept as long as it is referenced elsewhere. */
export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #forget = new FinalizationRegistry<string>((key) => {
    // Another value may have been stored under the key.
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  get(key: string): Value | undefined {
    return this.#values.get(key)?.deref();
  }

  set(key: string, value: Value): void {
    this.#values.set(key, new WeakRef(value));
    this.#forget.register(value, key);
  }
}
