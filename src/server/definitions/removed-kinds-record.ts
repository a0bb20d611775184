import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { systemConfigMapNames } from '../../dialect/system-config-map-names.ts';
import { readRemovedKind, removedKindText } from '../../kinds/apiextensions/removed-kinds.ts';
import type { ApiObject } from '../../meta/api-object.ts';

interface RemovedKindsRecordOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly dialect: Dialect;
}

/** A kind that a definition defined. */
interface Defined {
  /** Of the definition. */
  readonly uid: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

type Change = { readonly type: 'add'; readonly defined: Defined } | { readonly type: 'drop'; readonly kind: string };

type Data = Readonly<Record<string, string>>;

/** Writes that others may get ahead of. */
const attempts = 5;

/**
 * Tells collectors, in a ConfigMap, of which kinds all objects went with their definition. A collector that did not see an owner
 * go cannot ask for it once its kind is gone, and knows nothing of kinds that went before it started.
 */
export class RemovedKindsRecord {
  readonly #options: RemovedKindsRecordOptions;
  /** By name of the definition. */
  #changes = new Map<string, Change>();
  #last: Promise<void> = Promise.resolve();

  constructor(options: RemovedKindsRecordOptions) {
    this.#options = options;
  }

  /** To be called while the kind is still served, and has no more objects. */
  add(name: string, defined: Defined): Promise<void> {
    return this.#change(name, { type: 'add', defined });
  }

  /** The kind is defined anew: objects may be left when its definition goes next, if somebody takes off its finalizer. */
  drop(name: string, kind: string): Promise<void> {
    return this.#change(name, { type: 'drop', kind });
  }

  /** One write after another, each with all that has changed since the one before. */
  #change(name: string, change: Change): Promise<void> {
    this.#changes.set(name, change);
    const done = this.#last.then(() => this.#write());
    this.#last = done.catch(() => {});
    return done;
  }

  async #write(): Promise<void> {
    const changes = this.#changes;
    this.#changes = new Map();
    for (let attempt = 1; changes.size > 0; attempt++) {
      try {
        return await this.#writeOnce(changes);
      } catch (error) {
        if (hasReason(error, 'Conflict', 'AlreadyExists') && attempt < attempts) continue;
        this.#changes = new Map([...changes, ...this.#changes]);
        throw error;
      }
    }
  }

  async #writeOnce(changes: ReadonlyMap<string, Change>): Promise<void> {
    const { client, dialect } = this.#options;
    const collection = { resource: 'configmaps', namespace: dialect.namespaces.system };
    const name = systemConfigMapNames(dialect).removedKinds;
    const path = resourcePath({ ...collection, name });
    const found = await client.find<ApiObject & { readonly data?: Data }>(path);
    const data = this.#changed(found?.data ?? {}, changes);
    if (!data) return;
    const metadata = { name, namespace: collection.namespace };
    if (found) await client.update(path, { ...found, data });
    else await client.create(resourcePath(collection), { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }

  /** Undefined if nothing is to be written. */
  #changed(before: Data, changes: ReadonlyMap<string, Change>): Data | undefined {
    const data = new Map(Object.entries(before));
    let isChanged = false;
    for (const [name, change] of changes) {
      const entry = readRemovedKind(data.get(name));
      if (change.type === 'add' ? entry?.uid === change.defined.uid : entry?.kind !== change.kind) continue;
      isChanged = true;
      if (change.type === 'drop') data.delete(name);
      else data.set(name, removedKindText({ ...change.defined, at: this.#options.clock.now() }));
    }
    if (!isChanged) return undefined;
    const at = (text: string): number => readRemovedKind(text)?.at ?? 0;
    const latest = [...data].toSorted(([, one], [, other]) => at(other) - at(one));
    return Object.fromEntries(latest.slice(0, limits.removedKindsMax));
  }
}
