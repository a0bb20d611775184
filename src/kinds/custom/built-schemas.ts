import { limits } from '../../base/limits.ts';

/** Schemas that are kept after they were built, with all that is compiled of them, and can be built again. */
export interface BuiltSchemas {
  /** How many parts they have, which is what they cost of memory. */
  readonly parts: number;
  /** Set by whoever uses them. */
  isUsed: boolean;
  /** Forgets them. Whoever has one at the time keeps it. */
  drop(): void;
}

/**
 * Keeps the schemas of custom resources that are in use, up to so many parts: with their decoders, checks,
 * rules and so on they take several times the memory of their definitions. The clock algorithm: those go that were not
 * used since they were looked at last, so that a use costs no more than setting a flag.
 */
export class SchemaMemory {
  readonly #kept = new Set<BuiltSchemas>();
  #parts = 0;
  partsMax: number = limits.schemaPartsBuiltMax;

  add(added: BuiltSchemas): void {
    if (this.#kept.has(added)) return;
    this.#kept.add(added);
    this.#parts += added.parts;
    for (const oldest of this.#kept) {
      if (this.#parts <= this.partsMax || this.#kept.size === 1) return;
      this.#kept.delete(oldest);
      if (oldest.isUsed || oldest === added) {
        oldest.isUsed = false;
        this.#kept.add(oldest);
      } else {
        this.#parts -= oldest.parts;
        oldest.drop();
      }
    }
  }
}
