import type { ObjectCache } from '../../../cache/cache.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { defaultScope, type Scope } from '../../../meta/scope.ts';
import { ResourceRegistry } from '../../../resources/resource-registry.ts';

/** The tables of resources of all open scopes. Each starts with the same kinds. */
export class ScopeTables {
  readonly #kinds: readonly Kind[];
  readonly #cache: ObjectCache;
  readonly #tables = new Map<string, ResourceRegistry>();
  readonly #opening = new Set<string>();

  /** Opens the default scope, whose objects the cache already holds. */
  constructor(kinds: readonly Kind[], cache: ObjectCache) {
    this.#kinds = kinds;
    this.#cache = cache;
    this.#tables.set(defaultScope.name, new ResourceRegistry(kinds, { cache, scope: defaultScope }));
  }

  get default(): ResourceRegistry {
    const table = this.#tables.get(defaultScope.name);
    if (!table) throw new Error('the default scope is always open');
    return table;
  }

  all(): Iterable<ResourceRegistry> {
    return this.#tables.values();
  }

  /** Resolves when the cache has loaded the scope's objects. Rejects if the scope is already open. */
  async open(scope: Scope): Promise<ResourceRegistry> {
    const { name } = scope;
    if (this.#tables.has(name) || this.#opening.has(name)) throw new Error(`scope ${JSON.stringify(name)} is open`);
    this.#opening.add(name);
    try {
      const table = await ResourceRegistry.open(this.#kinds, { cache: this.#cache, scope });
      this.#tables.set(name, table);
      return table;
    } finally {
      this.#opening.delete(name);
    }
  }

  /** Leaves the scope's objects in the store. */
  close(table: ResourceRegistry): void {
    if (this.#tables.get(table.scope.name) !== table) return;
    this.#tables.delete(table.scope.name);
    table.close();
  }
}
