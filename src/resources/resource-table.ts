import { SortedEntries } from '../base/collections/sorted-entries.ts';
import { type ServedResource, servedKey } from './resource.ts';

/**
 * The resources served at one moment, by group, version and resource. A persistent tree: a changed table shares all
 * unchanged nodes, so a change costs O(log n).
 */
export class ResourceTable {
  static readonly empty = new ResourceTable(SortedEntries.empty());
  readonly #served: SortedEntries<ServedResource>;

  private constructor(served: SortedEntries<ServedResource>) {
    this.#served = served;
  }

  get size(): number {
    return this.#served.size;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#served.get(servedKey(group, version, resource));
  }

  /** In order of group, version and resource; the core group first. */
  all(): IterableIterator<ServedResource> {
    return this.#served.range({ key: '', exclusive: false }, undefined);
  }

  /** Entries of one group, in order of version and resource. The cost depends only on the number of entries found. */
  *ofGroup(group: string): Generator<ServedResource, void> {
    for (const served of this.#served.range({ key: `${group}/`, exclusive: false }, undefined)) {
      if (served.kind.group !== group) return;
      yield served;
    }
  }

  /** A table without `removed` and with `added`; an entry in both is replaced. */
  with({ removed, added }: TableEdit): ResourceTable {
    const served = this.#served.snapshot();
    for (const { key } of removed) served.delete(key);
    for (const each of added) served.set(each);
    return new ResourceTable(served);
  }
}

interface TableEdit {
  readonly removed: readonly ServedResource[];
  readonly added: readonly ServedResource[];
}
