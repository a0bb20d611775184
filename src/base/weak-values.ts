/** Values by key, each for as long as somebody else holds it. */
export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #forget = new FinalizationRegistry<string>((key) => {
    // Another value may have taken its place.
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
