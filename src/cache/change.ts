import type { Revision } from '../store/store.ts';
import type { CacheEntry, CacheEvent, EntryMatcher } from './cache.ts';
import type { EncodingMemo } from './encoding-memo.ts';
import type { EntryCodec, ObjectLocation } from './entries/entry-codec.ts';

/** A change of one object, as seen by watchers. All watchers share one instance and the events built from it. */
export class ObjectChange implements ObjectLocation {
  readonly namespace: string;
  readonly name: string;
  readonly revision: Revision;
  /** State after the change; undefined for a deletion. */
  readonly entry: CacheEntry | undefined;
  /** State before the change; undefined for a creation. */
  readonly previous: CacheEntry | undefined;
  readonly #codec: EntryCodec;
  readonly #encodings: EncodingMemo;
  #added: CacheEvent | undefined;
  #modified: CacheEvent | undefined;
  #deleted: CacheEvent | undefined;

  constructor(
    codec: EntryCodec,
    location: ObjectLocation,
    parts: {
      readonly revision: Revision;
      readonly entry: CacheEntry | undefined;
      readonly previous: CacheEntry | undefined;
      readonly encodings: EncodingMemo;
    },
  ) {
    this.#codec = codec;
    this.namespace = location.namespace;
    this.name = location.name;
    this.revision = parts.revision;
    this.entry = parts.entry;
    this.previous = parts.previous;
    this.#encodings = parts.encodings;
  }

  /** Bytes of object data that the change keeps in memory. Encoded events have a limit of their own. */
  get weight(): number {
    return weightOf(this.entry) + weightOf(this.previous);
  }

  /** The event for a watcher that selects by `matches`; undefined if it sees no change. */
  eventFor(matches: EntryMatcher | undefined): CacheEvent | undefined {
    const { entry, previous } = this;
    const before = previous !== undefined && (matches === undefined || matches(previous));
    const now = entry !== undefined && (matches === undefined || matches(entry));
    if (entry && now) return before ? this.#modifiedBy(entry) : this.#addedBy(entry);
    return previous && before ? this.#deletedAs(previous) : undefined;
  }

  #addedBy(entry: CacheEntry): CacheEvent {
    this.#added ??= this.#event('ADDED', entry);
    return this.#added;
  }

  #modifiedBy(entry: CacheEntry): CacheEvent {
    this.#modified ??= this.#event('MODIFIED', entry);
    return this.#modified;
  }

  /** The last state that the watcher saw, with the change's resourceVersion, as kube-apiserver sends it. */
  #deletedAs(previous: CacheEntry): CacheEvent {
    this.#deleted ??= this.#event('DELETED', this.#codec.restamp(previous, this.revision));
    return this.#deleted;
  }

  #event(type: CacheEvent['type'], entry: CacheEntry): CacheEvent {
    return { type, entry, revision: this.revision, encodings: this.#encodings.forEvent() };
  }
}

const weightOf = (entry: CacheEntry | undefined): number => (entry ? entry.end - entry.start : 0);
