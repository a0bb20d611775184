import type { Closable } from '../base/disposable.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ReflectorOptions, reflect } from './reflector.ts';

interface InformerOptions<T> extends Omit<ReflectorOptions<T>, 'signal' | 'listed' | 'changed'> {
  /**
   * Called after every change of what the informer has: one of both is undefined where the object is new or gone. Objects
   * that a list shows again are told too, as changed.
   */
  readonly changed: (key: string, now: T | undefined, before: T | undefined) => void;
  /** Called once, when the first list has come and everybody has been told of it. */
  readonly synced?: () => void;
}

/** `namespace/name`, or `/name` of cluster-scoped objects. */
const keyOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string => `${namespace}/${name}`;

/** What a collection holds, kept up to date: of each object, what was selected. */
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

  /** The first list has come. */
  get synced(): boolean {
    return this.#synced;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  #set(key: string, now: T | undefined): void {
    const before = this.#objects.get(key);
    if (now === undefined) this.#objects.delete(key);
    else this.#objects.set(key, now);
    this.#options.changed(key, now, before);
  }

  /** All of it is in place before anybody is told of any. */
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
