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

/** Watchers by scope, so that a change costs what the watchers cost that it may concern, however many others there are. */
export class WatcherIndex<Watcher> {
  readonly #byScope = new Map<string, Set<Watcher>>();

  add(scope: string, watcher: Watcher): void {
    const there = this.#byScope.get(scope);
    if (there) there.add(watcher);
    else this.#byScope.set(scope, new Set([watcher]));
  }

  remove(scope: string, watcher: Watcher): void {
    const there = this.#byScope.get(scope);
    if (there?.delete(watcher) && there.size === 0) this.#byScope.delete(scope);
  }

  get isEmpty(): boolean {
    return this.#byScope.size === 0;
  }

  /** Watchers that a change of the object may concern. They may be added and removed while this is iterated. */
  *concerned(prefix: string, location: ObjectLocation): IterableIterator<Watcher> {
    for (const scope of scopesOf(prefix, location)) {
      const watchers = this.#byScope.get(scope);
      if (watchers) yield* watchers;
    }
  }

  /** False when no watcher is concerned. */
  concerns(prefix: string, location: ObjectLocation): boolean {
    return scopesOf(prefix, location).some((scope) => this.#byScope.has(scope));
  }
}
