import type { Field, StructSchema } from './schema.ts';

/**
 * What is compiled for the fields of a struct, each when a value has it for the first time: large schemas of custom
 * resources have tens of thousands of fields, and their objects a few.
 */
export class LazyFields<Compiled> {
  readonly #fields: StructSchema['fields'];
  readonly #compile: (field: Field, name: string) => Compiled | undefined;
  /** Null for a field for which there is nothing to do. */
  readonly #compiled = new Map<string, Compiled | null>();

  constructor(fields: StructSchema['fields'], compile: (field: Field, name: string) => Compiled | undefined) {
    this.#fields = fields;
    this.#compile = compile;
  }

  /** Undefined if there is no such field, or nothing to do for it. */
  get(name: string): Compiled | undefined {
    const known = this.#compiled.get(name);
    return (known === undefined ? this.#make(name) : known) ?? undefined;
  }

  #make(name: string): Compiled | null {
    // Names that are not declared come from clients: nothing is kept of them.
    const field = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
    if (!field) return null;
    const made = this.#compile(field, name) ?? null;
    this.#compiled.set(name, made);
    return made;
  }
}
