import type { Clock } from '../../base/time/clock.ts';

type Compile<T> = (clock: Clock) => Promise<T>;

/** Something compiled when it is first needed, which takes a promise: the language of expressions is loaded then. */
export class CompiledOnce<T> {
  readonly #compile: Compile<T>;
  #compiling: Promise<T> | undefined;
  #compiled: { readonly value: T } | undefined;

  /** `compile` gets the clock of who needs it first. */
  constructor(compile: Compile<T>) {
    this.#compile = compile;
  }

  get(clock: Clock): T | Promise<T> {
    if (this.#compiled) return this.#compiled.value;
    this.#compiling ??= this.#compile(clock).then(
      (value) => {
        this.#compiled = { value };
        return value;
      },
      (error) => {
        // The next request tries again.
        this.#compiling = undefined;
        throw error;
      },
    );
    return this.#compiling;
  }
}

/**
 * What is compiled of the parts of configurations, kept as long as those are: a change of one configuration, or of the kinds that
 * are served, leaves the others compiled.
 */
export class CompiledByWritten<W extends object, T> {
  readonly #known = new WeakMap<W, CompiledOnce<T>>();

  /** `compile` must depend on nothing but the object that `written` is a part of. */
  of(written: W, compile: Compile<T>): CompiledOnce<T> {
    const compiled = this.#known.get(written) ?? new CompiledOnce(compile);
    this.#known.set(written, compiled);
    return compiled;
  }
}
