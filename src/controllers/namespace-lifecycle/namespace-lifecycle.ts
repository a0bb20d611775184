import { type Clock, pause } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import { type ApiClient, type ApiList, hasReason } from '../../client/api-client.ts';
import { discoverResources, pathOf } from '../../client/discovery-client.ts';
import { reflect } from '../../client/reflector.ts';
import type { ApiObject } from '../../meta/api-object.ts';

export interface NamespaceLifecycleOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The entry of `spec.finalizers` that stands for this controller's work. */
  readonly finalizer: string;
}

interface Namespace extends ApiObject {
  spec: { finalizers?: string[] };
}

/** How long content that waits for others (finalizers, grace periods) is left alone before it is looked at again. */
const recheckMs = 500;

/**
 * Deletes the content of namespaces that are being deleted, then lets them go (spec section 4.3). Every kind that
 * discovery names is emptied; the namespace's own finalizer is removed when nothing is left.
 */
export function startNamespaceLifecycle(options: NamespaceLifecycleOptions): Closable {
  const controller = new AbortController();
  const emptier = new Emptier(options, controller.signal);
  void reflect({
    ...options,
    path: '/api/v1/namespaces',
    signal: controller.signal,
    listed: (namespaces) => {
      for (const namespace of namespaces) emptier.see(namespace as Namespace);
    },
    changed: ({ type, object }) => {
      if (type !== 'DELETED') emptier.see(object as Namespace);
    },
  });
  return { close: () => controller.abort(new Error('the controller was stopped')) };
}

class Emptier {
  readonly #options: NamespaceLifecycleOptions;
  readonly #signal: AbortSignal;
  /** Names of namespaces that are being emptied. */
  readonly #busy = new Set<string>();

  constructor(options: NamespaceLifecycleOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  see({ metadata }: Namespace): void {
    const { name = '' } = metadata;
    if (metadata.deletionTimestamp === undefined || this.#busy.has(name)) return;
    this.#busy.add(name);
    void this.#empty(name).finally(() => this.#busy.delete(name));
  }

  /** Until the namespace is gone; errors are waited out. */
  async #empty(name: string): Promise<void> {
    const { logger } = this.#options;
    while (!this.#signal.aborted) {
      try {
        if (await this.#attempt(name)) return;
      } catch (error) {
        if (this.#signal.aborted || hasReason(error, 'NotFound')) return;
        logger.warn('a namespace could not be emptied; it is tried again', { namespace: name, error });
      }
      await pause(this.#options.clock, recheckMs, this.#signal);
    }
  }

  /** True when nothing is left to do. */
  async #attempt(name: string): Promise<boolean> {
    const { client, finalizer } = this.#options;
    const collections = await namespacedCollections(client, name, this.#signal);
    for (const path of collections) await client.delete(path, {}, this.#signal);
    for (const path of collections) {
      const { items } = await client.get<ApiList>(`${path}?limit=1`, this.#signal);
      if (items.length > 0) return false;
    }
    const namespace = await client.get<Namespace>(`/api/v1/namespaces/${name}`, this.#signal);
    if (namespace.metadata.deletionTimestamp === undefined) return true;
    const finalizers = (namespace.spec.finalizers ?? []).filter((other) => other !== finalizer);
    await client.update(`/api/v1/namespaces/${name}/finalize`, { ...namespace, spec: { finalizers } }, this.#signal);
    return true;
  }
}

/** The path of every collection of a namespace that can be emptied, by what discovery says now. */
async function namespacedCollections(client: ApiClient, name: string, signal: AbortSignal): Promise<readonly string[]> {
  const resources = await discoverResources(client, signal);
  return resources
    .filter(({ namespaced, verbs }) => namespaced && verbs.includes('deletecollection'))
    .map((resource) => pathOf(resource, name));
}
