import { limits } from '../../base/limits.ts';
import type { FieldError } from '../../meta/field-error.ts';

/** Collects errors up to `limits.findingsMax`, so that a definition with an error in each field has a bounded answer. */
export class BoundedErrors {
  readonly #list: FieldError[] = [];

  get list(): readonly FieldError[] {
    return this.#list;
  }

  /** Whoever walks a schema may stop. */
  get full(): boolean {
    return this.#list.length >= limits.findingsMax;
  }

  add(...errors: readonly FieldError[]): void {
    for (const error of errors) if (!this.full) this.#list.push(error);
  }
}
