import type { Closable } from '../base/disposable.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ReflectorOptions, reflect } from './reflector.ts';

export interface InformerOptions<T> extends Omit<ReflectorOptions<T>, 'signal' | 'listed' | 'changed'> {
  /**
   * Called after every change of the informer's content. `before` is undefined for a new object, `now` for a deleted one.
   * Objects in a relist are reported as changed even if they are the same.
   */
  readonly changed: (key: string, now: T | undefined, before: T | undefined) => void;
  /** Called once, after the first list has been reported. */
  readonly synced?: () => void;
}

/** `namespace/name`, or `/name` for cluster-scoped objects. */
const keyOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string => `${namespace}/${name}`;

/** A local copy of a collection, kept up to date by a reflector; holds what `select` returns for each object. */
export class Informer<T> implements Closable {
  readonly #options: InformerOptions<T>;
  readonly #stop = new AbortController();
  #objects = new Map<string, T>();
  #synced = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    void reflect<readonly [string, T]>({
      ...options,
      signal: this.#stop.signal,
      select: (object) => [keyOf(object), options.select(object)],
      listed: (items) => this.#replace(new Map(items)),
      changed: ({ type, object }) => this.#set(keyOf(object), type === 'DELETED' ? undefined : options.select(object)),
    });
  }

  /** True once the first list has been received. */
  get synced(): boolean {
    return this.#synced;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries();
  }

  #set(key: string, now: T | undefined): void {
    const before = this.#objects.get(key);
    if (now === undefined) this.#objects.delete(key);
    else this.#objects.set(key, now);
    this.#options.changed(key, now, before);
  }

  /** Replaces the whole content before the first callback. */
  #replace(objects: Map<string, T>): void {
    const before = this.#objects;
    const first = !this.#synced;
    this.#objects = objects;
    this.#synced = true;
    for (const [key, object] of before) if (!objects.has(key)) this.#options.changed(key, undefined, object);
    for (const [key, object] of objects) this.#options.changed(key, object, before.get(key));
    if (first) this.#options.synced?.();
  }

  close(): void {
    this.#stop.abort(new Error('the informer was stopped'));
  }
}
