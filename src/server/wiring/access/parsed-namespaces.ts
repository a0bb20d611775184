import { limits } from '../../../base/limits.ts';
import type { CacheEntry } from '../../../cache/cache.ts';
import { parseStored } from '../../../codec/json.ts';
import type { ApiObject } from '../../../meta/api-object.ts';

type Entry = Pick<CacheEntry, 'bytes'>;

/** Where the server has its namespaces. */
interface Namespaces {
  readonly collection: { get(key: string): Entry | undefined };
  objectKey(namespace: string, name: string): string;
}

interface Parsed {
  readonly entry: Entry;
  readonly object: ApiObject;
}

/**
 * Namespaces as objects, for admission: parsing one takes longer than a policy of several rules. Each is parsed once until it changes. Callers
 * share the object, and must not change it.
 */
export class ParsedNamespaces {
  /** By name; those that were parsed first are dropped first. */
  readonly #parsed = new Map<string, Parsed>();

  /** The namespace in the cache as it is now. */
  get(served: Namespaces | undefined, name: string): ApiObject | undefined {
    const entry = served?.collection.get(served.objectKey('', name));
    const known = this.#parsed.get(name);
    if (known !== undefined && known.entry === entry) return known.object;
    this.#parsed.delete(name);
    if (!entry) return undefined;
    const object = parseStored(entry.bytes) as ApiObject;
    if (entry.bytes.length <= limits.parsedNamespaceBytesMax) this.#keep(name, { entry, object });
    return object;
  }

  #keep(name: string, parsed: Parsed): void {
    const [oldest] = this.#parsed.keys();
    if (oldest !== undefined && this.#parsed.size >= limits.parsedNamespacesKept) this.#parsed.delete(oldest);
    this.#parsed.set(name, parsed);
  }
}
