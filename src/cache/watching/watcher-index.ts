import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { CacheEntry, RequiredField } from '../cache.ts';
import type { ObjectLocation } from '../entries/entry-codec.ts';

/** The objects of a resource that a watch covers. */
interface WatchScope {
  readonly namespace?: string;
  readonly name?: string;
}

/** Index key of a scope. */
export function scopeText(prefix: string, namespaced: boolean, { namespace = '', name = '' }: WatchScope): string {
  if (!namespaced) return namespace === '' ? prefix + name : `${prefix}${namespace}/${name}`;
  return namespace === '' && name === '' ? prefix : `${prefix}${namespace}/${name}`;
}

/** The scopes that contain an object: the resource, its namespace, its name in all namespaces, the object itself. */
function scopesOf(prefix: string, { namespace, name }: ObjectLocation): readonly string[] {
  if (namespace === '') return [prefix, prefix + name];
  return [prefix, `${prefix}${namespace}/`, `${prefix}/${name}`, `${prefix}${namespace}/${name}`];
}

/** The states before and after a change, if they can be decoded. */
interface ChangedStates {
  readonly previous: CacheEntry | undefined;
  readonly entry: CacheEntry | undefined;
}

/** The watchers of one scope; those that require a field value are indexed by it. */
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

  /** Adds to `sets` the watchers that a change may concern. */
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

/** A watcher, as the index sees it. */
export interface IndexedWatcher {
  /** Index key of its scope. */
  readonly scope: string;
  readonly requires: RequiredField | undefined;
}

/** Index of watchers by scope and required field value: the cost of a change depends only on the watchers it may concern. */
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
   * Watchers that a change of the object may concern, each in exactly one set. The sets are the index's own: watchers may be
   * added and removed during iteration. If the states cannot be decoded, all watchers of the object's scopes are included.
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

  /** False if no watcher covers the object, whatever its states. */
  concerns(prefix: string, location: ObjectLocation): boolean {
    return scopesOf(prefix, location).some((scope) => this.#byScope.has(scope));
  }
}
