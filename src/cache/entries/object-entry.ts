import type { ByteSpan } from '../../base/collections/byte-span.ts';
import type { Revision } from '../../store/store.ts';
import type { CacheEntry } from '../cache.ts';

/** Properties shared by all entries of a resource. */
export interface EntryShape {
  /** Labels of the selectable fields, in addition to `metadata.name` and `metadata.namespace`. */
  readonly fieldLabels: readonly string[];
}

/** Labels as alternating keys and values: a Map per entry would need more memory than the object. */
export type FlatLabels = readonly string[];

export const noLabels: FlatLabels = [];

/** A decoded object. Kept small: with 100,000 of them every field counts. */
export class ObjectEntry implements CacheEntry {
  readonly key: string;
  readonly namespace: string;
  readonly revision: Revision;
  readonly memory: Buffer;
  readonly start: number;
  readonly end: number;
  #view: Buffer | undefined;
  readonly #shape: EntryShape;
  readonly #labels: FlatLabels;
  /** Indexed like the shape's field labels. */
  readonly #fields: readonly string[];

  constructor(
    shape: EntryShape,
    parts: Pick<CacheEntry, 'key' | 'namespace' | 'revision'> & {
      readonly at: ByteSpan;
      readonly labels: FlatLabels;
      readonly fields: readonly string[];
    },
  ) {
    this.key = parts.key;
    this.namespace = parts.namespace;
    this.revision = parts.revision;
    this.memory = parts.at.memory;
    this.start = parts.at.start;
    this.end = parts.at.end;
    this.#shape = shape;
    this.#labels = parts.labels;
    this.#fields = parts.fields;
  }

  get stale(): boolean {
    return false;
  }

  /** The same Buffer on every call, so that values derived from it can be cached by identity. */
  get bytes(): Buffer {
    this.#view ??=
      this.start === 0 && this.end === this.memory.length ? this.memory : this.memory.subarray(this.start, this.end);
    return this.#view;
  }

  get name(): string {
    return this.key.slice(this.key.lastIndexOf('/') + 1);
  }

  label(key: string): string | undefined {
    const labels = this.#labels;
    for (let index = 0; index < labels.length; index += 2) if (labels[index] === key) return labels[index + 1];
    return undefined;
  }

  field(label: string): string | undefined {
    if (label === 'metadata.name') return this.name;
    if (label === 'metadata.namespace') return this.namespace;
    const index = this.#shape.fieldLabels.indexOf(label);
    return index < 0 ? undefined : this.#fields[index];
  }

  /** The same object with its bytes at `at` and `revision` as its resourceVersion. */
  moved(at: ByteSpan, revision: Revision = this.revision): ObjectEntry {
    return new (this.stale ? StaleEntry : ObjectEntry)(this.#shape, {
      key: this.key,
      namespace: this.namespace,
      revision,
      at,
      labels: this.#labels,
      fields: this.#fields,
    });
  }
}

/** An entry whose stored form is outdated. A subclass, so that other entries need no field for the flag. */
export class StaleEntry extends ObjectEntry {
  override get stale(): boolean {
    return true;
  }
}
