import type { Closable } from '../../../base/disposable.ts';
import { scopeNamed } from '../../../meta/scope.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import type { ApiServerConfig } from '../config.ts';
import { openScopeServer, type ScopeServer } from './scope-server.ts';
import type { SharedParts } from './shared-parts.ts';

/** One of several control planes of a server. Closing it leaves its objects in the store. */
export interface ServedScope extends Pick<ScopeServer, 'handle' | 'resources' | 'transportAs' | 'clientAs'>, Closable {}

/** The scopes that a server serves. */
export class OpenScopes implements Closable {
  readonly #config: ApiServerConfig;
  readonly #shared: SharedParts;
  readonly #open = new Set<ScopeServer>();

  constructor(config: ApiServerConfig, shared: SharedParts) {
    this.#config = config;
    this.#shared = shared;
  }

  async open(resources: ResourceRegistry): Promise<ScopeServer> {
    const scope = await openScopeServer(this.#config, this.#shared, resources);
    this.#open.add(scope);
    return scope;
  }

  /** Opens a scope and makes it ready. */
  async openNew(name: string): Promise<ServedScope> {
    const scope = await this.open(await this.#shared.tables.open(scopeNamed(name)));
    try {
      await scope.prepare();
      scope.startControllers();
    } catch (error) {
      this.#close(scope);
      throw error;
    }
    const { handle, resources, transportAs, clientAs } = scope;
    return { ...{ handle, resources, transportAs, clientAs }, close: () => this.#close(scope) };
  }

  /** Ends every watch of every scope cleanly and refuses new ones. */
  endWatches(): void {
    for (const scope of this.#open) scope.endWatches();
  }

  close(): void {
    for (const scope of this.#open) this.#close(scope);
  }

  #close(scope: ScopeServer): void {
    if (this.#open.delete(scope)) scope.close();
  }
}
