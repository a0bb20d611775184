import type { CacheEntry, RequiredField } from './cache.ts';
import type { ObjectLocation } from './entry-codec.ts';

/** Which objects of a resource a watch is about. */
export interface WatchScope {
  readonly namespace?: string;
  readonly name?: string;
}

/** The text that stands for a scope in the index. */
export function scopeText(prefix: string, namespaced: boolean, { namespace = '', name = '' }: WatchScope): string {
  if (!namespaced) return namespace === '' ? prefix + name : `${prefix}${namespace}/${name}`;
  return namespace === '' && name === '' ? prefix : `${prefix}${namespace}/${name}`;
}

/** The scopes that an object is in: the resource, its namespace, its name in all namespaces, itself. */
function scopesOf(prefix: string, { namespace, name }: ObjectLocation): readonly string[] {
  if (namespace === '') return [prefix, prefix + name];
  return [prefix, `${prefix}${namespace}/`, `${prefix}/${name}`, `${prefix}${namespace}/${name}`];
}

/** The states before and after a change, as far as they can be shown. */
interface ChangedStates {
  readonly previous: CacheEntry | undefined;
  readonly entry: CacheEntry | undefined;
}

/** The watchers of one scope. Those that require a value of a field are found by it. */
class ScopeWatchers<Watcher> {
  readonly #others = new Set<Watcher>();
  readonly #byField = new Map<string, Map<string, Set<Watcher>>>();

  get isEmpty(): boolean {
    return this.#others.size === 0 && this.#byField.size === 0;
  }

  add(watcher: Watcher, requires: RequiredField | undefined): void {
    if (!requires) {
      this.#others.add(watcher);
      return;
    }
    const byValue = getOrAdd(this.#byField, requires.label, () => new Map<string, Set<Watcher>>());
    getOrAdd(byValue, requires.value, () => new Set<Watcher>()).add(watcher);
  }

  remove(watcher: Watcher, requires: RequiredField | undefined): void {
    if (!requires) {
      this.#others.delete(watcher);
      return;
    }
    const byValue = this.#byField.get(requires.label);
    const there = byValue?.get(requires.value);
    if (!byValue || !there?.delete(watcher) || there.size > 0) return;
    byValue.delete(requires.value);
    if (byValue.size === 0) this.#byField.delete(requires.label);
  }

  /** Adds those whom a change may concern to `sets`. */
  concerned(states: ChangedStates, sets: ReadonlySet<Watcher>[]): void {
    if (this.#others.size > 0) sets.push(this.#others);
    for (const [label, byValue] of this.#byField) {
      const before = states.previous?.field(label);
      const now = states.entry?.field(label);
      const watchersBefore = before === undefined ? undefined : byValue.get(before);
      const watchersNow = now === undefined || now === before ? undefined : byValue.get(now);
      if (watchersBefore) sets.push(watchersBefore);
      if (watchersNow) sets.push(watchersNow);
    }
  }

  all(sets: ReadonlySet<Watcher>[]): void {
    if (this.#others.size > 0) sets.push(this.#others);
    for (const byValue of this.#byField.values()) for (const watchers of byValue.values()) sets.push(watchers);
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = make();
  map.set(key, made);
  return made;
}

/** What the index must know of a watcher. */
export interface IndexedWatcher {
  /** The text of its scope. */
  readonly scope: string;
  readonly requires: RequiredField | undefined;
}

/**
 * Watchers by scope and by the value that they require of a field, so that a change costs what the watchers cost that it
 * may concern, however many others there are.
 */
export class WatcherIndex<Watcher extends IndexedWatcher> {
  readonly #byScope = new Map<string, ScopeWatchers<Watcher>>();

  add(watcher: Watcher): void {
    getOrAdd(this.#byScope, watcher.scope, () => new ScopeWatchers<Watcher>()).add(watcher, watcher.requires);
  }

  remove(watcher: Watcher): void {
    const there = this.#byScope.get(watcher.scope);
    there?.remove(watcher, watcher.requires);
    if (there?.isEmpty) this.#byScope.delete(watcher.scope);
  }

  get isEmpty(): boolean {
    return this.#byScope.size === 0;
  }

  /**
   * Watchers that a change of the object may concern, each in one of the sets. The sets are those of the index: watchers may be
   * added and removed while they are iterated. Where the states cannot be shown, every watcher of the object's scopes is
   * concerned.
   */
  concerned(
    prefix: string,
    location: ObjectLocation,
    states: ChangedStates | 'corrupt',
  ): readonly ReadonlySet<Watcher>[] {
    const sets: ReadonlySet<Watcher>[] = [];
    if (this.isEmpty) return sets;
    for (const scope of scopesOf(prefix, location)) {
      const watchers = this.#byScope.get(scope);
      if (states === 'corrupt') watchers?.all(sets);
      else watchers?.concerned(states, sets);
    }
    return sets;
  }

  /** False when no watcher is concerned, whatever the states are. */
  concerns(prefix: string, location: ObjectLocation): boolean {
    return scopesOf(prefix, location).some((scope) => this.#byScope.has(scope));
  }
}
