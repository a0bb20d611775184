import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { startInformer } from '../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

interface FollowByNamespaceOptions<T> {
  readonly resources: ResourceRegistry;
  readonly logger: Logger;
  /** Plural name of a resource of the core group. */
  readonly resource: string;
  readonly read: (object: ApiObject) => T;
}

interface State<T> {
  readonly uid: string | undefined;
  readonly revision: number;
  readonly value: T;
}

/** The objects of a resource by namespace and in the order of names, as fresh as the cache. Each is read once until it changes. */
export class FollowedByNamespace<T> implements Closable {
  readonly #byNamespace = new Map<string, Map<string, State<T>>>();
  readonly #lists = new Map<string, readonly T[]>();
  readonly #informer: Closable;
  readonly #read: (object: ApiObject) => T;

  constructor({ resources, logger, resource, read }: FollowByNamespaceOptions<T>) {
    this.#read = read;
    const handler = {
      put: (object: ApiObject) => this.#put(object),
      remove: (namespace: string, name: string) => this.#remove(namespace, name),
    };
    this.#informer = startInformer({ resources, find: resources.finder('', 'v1', resource) }, handler, logger);
  }

  of(namespace: string): readonly T[] {
    const known = this.#lists.get(namespace);
    if (known) return known;
    const objects = this.#byNamespace.get(namespace);
    if (!objects) return [];
    const sorted = [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { value }]) => value);
    this.#lists.set(namespace, sorted);
    return sorted;
  }

  /** Takes a state that this server has written, which the cache may not have yet. It may also have a later one. */
  written(object: ApiObject): void {
    const { namespace = '', name = '', uid } = object.metadata;
    if (this.#byNamespace.get(namespace)?.get(name)?.uid === uid) this.#put(object);
  }

  #put(object: ApiObject): void {
    const { namespace = '', name = '', uid, resourceVersion } = object.metadata;
    const objects = this.#byNamespace.get(namespace) ?? new Map<string, State<T>>();
    const revision = Number(resourceVersion);
    if ((objects.get(name)?.revision ?? 0) >= revision) return;
    this.#byNamespace.set(namespace, objects.set(name, { uid, revision, value: this.#read(object) }));
    this.#lists.delete(namespace);
  }

  #remove(namespace: string, name: string): void {
    const objects = this.#byNamespace.get(namespace);
    objects?.delete(name);
    if (objects?.size === 0) this.#byNamespace.delete(namespace);
    this.#lists.delete(namespace);
  }

  close(): void {
    this.#informer.close();
  }
}
