import { limits } from '../../base/limits.ts';
import type { Count } from '../../base/metrics.ts';
import type { CachedResource, ObjectCache } from '../../cache/cache.ts';
import { showRevisions } from '../../cache/collection-metrics.ts';
import { SplitCache } from '../../cache/split-cache.ts';
import { createWatchCache, type WatchCacheOptions } from '../../cache/watch-cache.ts';
import type { Kind } from '../../kinds/kind.ts';
import { kinds } from '../../kinds/kinds.ts';
import { defaultScope } from '../../meta/scope.ts';
import { enabledKinds } from '../../resources/enabled-kinds.ts';
import { cachedResources, keyPrefix } from '../../resources/resource.ts';
import { measuredStore, storeMetrics } from '../../store/measured-store.ts';
import { SplitStore } from '../../store/split-store.ts';
import type { KeyStore, Store } from '../../store/store.ts';
import { transformedStore } from '../../store/transformed-store.ts';
import type { ValueTransformer } from '../../store/value-transformer.ts';
import { claimStore } from '../upkeep/claim-store.ts';
import { type LedCompaction, leadCompaction } from '../upkeep/led-compaction.ts';
import { ServerPresence } from '../upkeep/server-presence.ts';
import { earlyCompactions, passedOverKeys, storageMetrics } from '../upkeep/storage-metrics.ts';
import type { Basis } from './basis.ts';
import { type CachedStore, cacheMetrics } from './caches.ts';
import type { ApiServerConfig } from './config.ts';
import { namesOfEnabled } from './features.ts';
import { ScopeTables } from './scopes/scope-tables.ts';
import type { StorageConfig } from './storage-config.ts';
import { type OtherStore, otherStores } from './store-places.ts';

/** Storage for the objects of all scopes. */
export interface Storage {
  /** The objects of all resources, whichever store they are in. */
  readonly store: KeyStore;
  readonly cache: ObjectCache;
  /** The main one, which has what no resource has, and those of `--etcd-servers-overrides`. */
  readonly stores: readonly [OpenStore, ...OpenStore[]];
  readonly tables: ScopeTables;
  /** The servers that share the store. Undefined if none can. */
  readonly presence: ServerPresence | undefined;
  /** Why values cannot be encrypted; undefined if they can. Absent where that needs nobody else. */
  readonly encryptionProblem?: () => Promise<string | undefined>;
  /** Call once the server is ready, since it reads much. */
  readonly measureHistory: () => Promise<void>;
}

/** One store with what looks after it. */
interface OpenStore extends CachedStore {
  readonly presence: ServerPresence | undefined;
  readonly compaction: LedCompaction;
}

/** The label values of kube-apiserver's storage metrics. */
const storageNames = { sqlite: 'sqlite', etcd3: 'etcd', memory: 'memory' } as const;

type StorageSettings = Pick<
  ApiServerConfig,
  'storage' | 'storageMetricsOff' | 'encryption' | 'features' | 'runtimeConfig' | 'sharing'
>;

export async function openStorage(
  { storage, storageMetricsOff, encryption, features, runtimeConfig, sharing }: StorageSettings,
  basis: Basis,
): Promise<Storage> {
  const { environment, clock, random, dialect, logger, metrics, shutdown, held } = basis;
  const all = kinds(dialect);
  const others = otherStores(all, storage, logger);
  const encrypted = encryption && (await (await import('./encryption.ts')).openEncryption(encryption, basis));
  const passedOver = storage.backend === 'etcd3' ? passedOverKeys(metrics) : undefined;
  const open = (config: StorageConfig) => environment.openStore(config, { clock, random, logger, passedOver });
  // Values that were stored before they were encrypted are to be found nowhere once they were written again.
  const opening = open(encrypted && storage.backend === 'sqlite' ? { ...storage, erase: true } : storage);
  // The store opens on a thread of its own, or elsewhere.
  const served = enabledKinds(all, { features: namesOfEnabled(features), runtimeConfig });
  const parts: StoreParts = {
    ...{ basis, windowMs: windowOf(storage), transformer: encrypted?.transformer, sharing },
    measured: storeMetrics(metrics, clock),
    early: earlyCompactions(metrics),
    cacheMetrics: cacheMetrics(metrics),
    historiesBytesMax: limits.cacheHistoriesBytesMax / (1 + others.length),
  };
  const resources = cachedResources(defaultScope, served);
  const isHere = ({ prefix }: CachedResource) => !others.some(({ folders }) => folders.has(prefix));
  const main = await openCachedStore(await opening, { ...parts, storage, resources: resources.filter(isHere) });
  const stores: [OpenStore, ...OpenStore[]] = [main];
  for (const other of others) {
    const own = resources.filter(({ prefix }) => other.folders.has(prefix));
    const opened = await open(other.storage);
    stores.push(await openCachedStore(opened, { ...parts, storage: other.storage, resources: own }));
  }
  const { store, cache } = others.length === 0 ? main : splitStorage(stores, { others, kinds: all });
  encrypted?.follow(cache);
  shutdown.add('timers', () => held.close());
  const tables = new ScopeTables(served, cache);
  showRevisions(metrics, cache);
  showContents(stores, { ...{ metrics, clock, tables, off: storageMetricsOff }, name: storageNames[storage.backend] });
  return {
    ...{ store, cache, stores, tables, presence: main.presence },
    async measureHistory() {
      await Promise.all(stores.map(({ compaction }) => compaction.measure()));
    },
    ...(encrypted?.problem && { encryptionProblem: encrypted.problem }),
  };
}

interface ContentsParts extends Omit<Parameters<typeof storageMetrics>[0], 'stores' | 'historyBytes'> {
  /** Of a cluster, without its number. */
  readonly name: string;
}

const showContents = (stores: readonly OpenStore[], { name, ...parts }: ContentsParts): void =>
  storageMetrics({
    ...parts,
    stores: stores.map(({ store }, index) => ({ store, clusterId: `${name}-${index}` })),
    historyBytes: () => stores.reduce((sum, { compaction }) => sum + compaction.historyBytes, 0),
  });

/** Several stores as one. Decisions wait for a store unless nothing in it can change them. */
function splitStorage(
  [main, ...opened]: readonly [OpenStore, ...OpenStore[]],
  { others, kinds: all }: { readonly others: readonly OtherStore[]; readonly kinds: readonly Kind[] },
): Pick<Storage, 'store' | 'cache'> {
  const places = new Map<string, OpenStore>();
  for (const [index, { folders }] of others.entries()) {
    for (const folder of folders) places.set(folder, opened[index] as OpenStore);
  }
  const idle = new Set(all.filter((kind) => kind.decidesNothing).map((kind) => keyPrefix(defaultScope, kind)));
  return {
    store: new SplitStore({
      main: main.store,
      others: new Map([...places].map(([folder, { store }]) => [folder, store])),
    }),
    cache: new SplitCache({
      main: main.cache,
      others: new Map([...places].map(([folder, { cache }]) => [folder, cache])),
      decides: (folder) => !idle.has(folder),
    }),
  };
}

/** What the stores of a server have in common. */
interface StoreParts extends Required<Pick<WatchCacheOptions, 'sharing' | 'historiesBytesMax'>> {
  readonly basis: Basis;
  readonly windowMs: number;
  /** Undefined if values are stored as they are. */
  readonly transformer: ValueTransformer | undefined;
  readonly measured: ReturnType<typeof storeMetrics>;
  readonly early: Count;
  readonly cacheMetrics: ReturnType<typeof cacheMetrics>;
}

interface CachedStoreParts extends StoreParts {
  readonly storage: StorageConfig;
  readonly resources: readonly CachedResource[];
}

/** Claims an open store and loads the cache of these resources. All of it closes with the server. */
async function openCachedStore(
  opened: Store,
  { basis, storage, windowMs, transformer, sharing, measured, early, resources, ...options }: CachedStoreParts,
): Promise<OpenStore> {
  const { clock, random, dialect, logger, shutdown } = basis;
  const plain = measuredStore(opened, measured);
  const store = transformer ? transformedStore(plain, transformer, clock) : plain;
  shutdown.add('store', () => store.close());
  await claimStore(store, dialect.name);
  const presence = await openPresence(storage, store, basis);
  const compaction = await leadCompaction(store, { ...basis, windowMs, early });
  shutdown.add('compactor', () => compaction.close());
  const cache = createWatchCache({
    ...{ store, resources, clock, random, logger, sharing },
    ...{ ...options.cacheMetrics, historiesBytesMax: options.historiesBytesMax },
    historyGrew: (bytes, revision) => compaction.historyGrew(bytes, revision),
  });
  shutdown.add('cache', () => cache.close());
  await cache.ready();
  return { store, cache, presence, compaction };
}

/** From before this server writes anything until it no longer does. A data file has one server, and nobody else to tell. */
async function openPresence(
  { backend }: ApiServerConfig['storage'],
  store: Store,
  { environment: { hostname }, clock, random, logger, lead, shutdown }: Basis,
): Promise<ServerPresence | undefined> {
  if (backend !== 'etcd3') return undefined;
  const presence = new ServerPresence({ store, clock, random, logger, hostname, lead });
  shutdown.add('presence', () => presence.close());
  await presence.open();
  return presence;
}

/** How long history stays, in milliseconds; 0: another program compacts. */
const windowOf = (storage: ApiServerConfig['storage']): number =>
  storage.backend === 'etcd3' ? (storage.compactionMs ?? limits.historyMs) : limits.historyMs;
