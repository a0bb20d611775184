import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { kinds } from '../../kinds/kinds.ts';
import { enabledKinds } from '../../resources/enabled-kinds.ts';
import { measuredStore, storeMetrics } from '../../store/measured-store.ts';
import type { Store } from '../../store/store.ts';
import { transformedStore } from '../../store/transformed-store.ts';
import { claimStore } from '../upkeep/claim-store.ts';
import { Compactor } from '../upkeep/compactor.ts';
import { ServerPresence } from '../upkeep/server-presence.ts';
import { earlyCompactions, passedOverKeys, storageMetrics } from '../upkeep/storage-metrics.ts';
import type { Basis } from './basis.ts';
import type { ApiServerConfig } from './config.ts';
import { namesOfEnabled } from './features.ts';
import { openCache } from './open-cache.ts';
import type { ScopeTables } from './scopes/scope-tables.ts';

/** Storage for the objects of all scopes. */
export interface Storage {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly tables: ScopeTables;
  /** The servers that share the store. Undefined if none can. */
  readonly presence: ServerPresence | undefined;
  /** Why values cannot be encrypted; undefined if they can. Absent where that needs nobody else. */
  readonly encryptionProblem?: () => Promise<string | undefined>;
  /** Call once the server is ready, since it reads much. */
  readonly measureHistory: () => Promise<void>;
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
  const encrypted = encryption && (await (await import('./encryption.ts')).openEncryption(encryption, basis));
  // Values that were stored before they were encrypted are to be found nowhere once they were written again.
  const erasing = encrypted && storage.backend === 'sqlite' ? { ...storage, erase: true } : storage;
  const passedOver = storage.backend === 'etcd3' ? passedOverKeys(metrics) : undefined;
  const opening = environment.openStore(erasing, { clock, random, logger, passedOver });
  // The store opens on a thread of its own, or elsewhere.
  const served = enabledKinds(kinds(dialect), { features: namesOfEnabled(features), runtimeConfig });
  const measured = measuredStore(await opening, storeMetrics(metrics, clock));
  const store = encrypted ? transformedStore(measured, encrypted.transformer, clock) : measured;
  shutdown.add('store', () => store.close());
  await claimStore(store, dialect.name);
  const presence = await openPresence(storage, store, basis);
  const compaction = await leadCompaction(store, basis, windowOf(storage));
  shutdown.add('compactor', () => compaction.close());
  const { cache, tables } = await openCache(served, {
    ...{ store, clock, random, logger, metrics, sharing },
    historyGrew: (bytes, revision) => compaction.historyGrew(bytes, revision),
  });
  shutdown.add('cache', () => cache.close());
  encrypted?.follow(cache);
  shutdown.add('timers', () => held.close());
  storageMetrics({
    ...{ metrics, clock, store, tables, off: storageMetricsOff },
    historyBytes: () => compaction.historyBytes,
    clusterId: `${storageNames[storage.backend]}-0`,
  });
  return {
    ...{ store, cache, tables, presence, measureHistory: () => compaction.measure() },
    ...(encrypted?.problem && { encryptionProblem: encrypted.problem }),
  };
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

/** Compaction by the server that leads. */
interface LedCompaction extends Pick<Compactor, 'historyGrew' | 'historyBytes'>, Closable {
  /** Looks for history from before this server led: now, if it leads, or when it does. */
  measure(): Promise<void>;
}

async function leadCompaction(
  store: Store,
  { clock, logger, metrics, lead }: Pick<Basis, 'clock' | 'logger' | 'metrics' | 'lead'>,
  windowMs: number,
): Promise<LedCompaction> {
  const options = {
    ...{ store, clock, logger },
    windowMs,
    bytesMax: limits.historyBytesMax,
    earlyCompactions: earlyCompactions(metrics),
  };
  /** Changes up to this revision are in the cache. */
  let applied = await store.head();
  let compactor: Compactor | undefined;
  let measure = async (): Promise<void> => {};
  let isAsked = false;
  // A server that takes the lead later finds history as after a start, and knows no older marks.
  const leading = lead.begin(() => {
    const [own, before] = [new Compactor(options), applied];
    compactor = own;
    measure = () => own.measure(before);
    if (isAsked) void measure();
    return own;
  });
  return {
    get historyBytes() {
      return compactor?.historyBytes ?? 0;
    },
    historyGrew(bytes, revision) {
      applied = revision;
      compactor?.historyGrew(bytes, revision);
    },
    measure() {
      isAsked = true;
      return measure();
    },
    close: () => leading.close(),
  };
}
