import { limits } from '../../base/limits.ts';
import type { Count, Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import { qualifiedResource } from '../../meta/status-error.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { Store } from '../../store/store.ts';

interface StorageMetricsParts {
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** With the storage cluster label of kube-apiserver: `etcd-0`. */
  readonly stores: readonly { readonly store: Pick<Store, 'size'>; readonly clusterId: string }[];
  /** Of the history in all stores, as far as this server knows. */
  readonly historyBytes: () => number;
  /** The tables of all scopes, whose objects are counted together. */
  readonly tables: { all(): Iterable<Pick<ResourceRegistry, 'stored'>> };
  /** Left out on request: counts of objects, the size of the store. */
  readonly off?: { readonly objects?: boolean; readonly size?: boolean } | undefined;
}

/** Counts compactions by size, which shorten the history window. */
export const earlyCompactions = (metrics: Metrics): Count =>
  metrics.count({
    name: 'orch_storage_early_compactions_total',
    help: 'Compactions of history before its age, because it took too many bytes.',
  });

/** Counts keys in etcd that no server writes, each time that one is met. */
export const passedOverKeys = (metrics: Metrics): Count =>
  metrics.count({
    name: 'orch_storage_passed_over_keys_total',
    help: 'Keys below the prefix in etcd that no server writes, each time that a list or a watch met one.',
  });

/** Metrics of the store's contents, with the names of kube-apiserver where they exist. */
export function storageMetrics(parts: StorageMetricsParts): void {
  const { metrics, clock, stores, historyBytes, tables } = parts;
  const size = metrics.gauge({
    name: 'apiserver_storage_size_bytes',
    common: true,
    stability: 'STABLE',
    help: 'Size of the store on disk in bytes.',
    labels: ['storage_cluster_id'],
  });
  const formerSize = metrics.gauge({
    name: 'apiserver_storage_db_total_size_in_bytes',
    common: true,
    deprecatedIn: '1.28',
    help: 'Size of the store on disk in bytes.',
    labels: ['endpoint'],
  });
  const objects = metrics.gauge({
    name: 'apiserver_storage_objects',
    common: true,
    stability: 'STABLE',
    help: 'Stored objects, by resource.',
    labels: ['resource'],
  });
  const history = metrics.gauge({
    name: 'orch_storage_history_bytes',
    help: 'Bytes of history in the store.',
    labels: [],
  });
  let shown: ReadonlyMap<string, number> = new Map();
  metrics.onRefresh(async () => {
    if (parts.off?.size) return;
    const sizes = stores.map(async ({ store, clusterId }) => {
      const bytes = await querySize(store, clock);
      if (bytes === undefined) return;
      size.set({ storage_cluster_id: clusterId }, bytes);
      formerSize.set({ endpoint: clusterId }, bytes);
    });
    await Promise.all(sizes);
  });
  metrics.onCollect(() => {
    history.set({}, historyBytes());
    if (parts.off?.objects) return;
    const before = shown;
    shown = countObjects(tables.all());
    for (const [resource, count] of shown) objects.set({ resource }, count);
    for (const resource of before.keys()) if (!shown.has(resource)) objects.remove({ resource });
  });
}

function countObjects(tables: Iterable<Pick<ResourceRegistry, 'stored'>>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const table of tables) {
    for (const { kind, collection } of table.stored()) {
      const resource = qualifiedResource(kind);
      counts.set(resource, (counts.get(resource) ?? 0) + collection.snapshot().count(collection.prefix));
    }
  }
  return counts;
}

/** Undefined if the store does not answer in time: the metric keeps its last value. */
function querySize(store: Pick<Store, 'size'>, clock: Clock): Promise<number | undefined> {
  return inTime(
    store.size().catch(() => undefined),
    limits.storeHealthWaitMs,
    { clock },
  );
}
