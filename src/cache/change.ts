import type { Revision } from '../store/store.ts';
import type { CacheEntry, CacheEvent, EntryMatcher } from './cache.ts';
import type { EncodingMemo } from './encoding-memo.ts';
import type { EntryCodec, ObjectLocation } from './entry-codec.ts';

/** A change of one object as watchers look at it. One object for all of them, so that they share the events it makes. */
export class ObjectChange implements ObjectLocation {
  readonly namespace: string;
  readonly name: string;
  readonly revision: Revision;
  /** The new state; undefined after a deletion. */
  readonly entry: CacheEntry | undefined;
  /** The state before; undefined for a new object. */
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

  /** Bytes that the change keeps alive while it is held. What events are encoded to has a bound of its own. */
  get weight(): number {
    return weightOf(this.entry) + weightOf(this.previous);
  }

  /** What a watcher that selects by `matches` is told of it; undefined: nothing. */
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

  /** The last state that the watcher saw, at the version of the change: as published servers send it. */
  #deletedAs(previous: CacheEntry): CacheEvent {
    this.#deleted ??= this.#event('DELETED', this.#codec.restamp(previous, this.revision));
    return this.#deleted;
  }

  #event(type: CacheEvent['type'], entry: CacheEntry): CacheEvent {
    return { type, entry, revision: this.revision, encodings: this.#encodings.ofEvent() };
  }
}

const weightOf = (entry: CacheEntry | undefined): number => (entry ? entry.end - entry.start : 0);
