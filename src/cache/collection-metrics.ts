import { limits } from '../base/limits.ts';
import type { HistogramSeries, Metrics } from '../base/metrics.ts';
import { folderOf, resourceOf } from '../store/key-resource.ts';
import type { ObjectCache } from './cache.ts';

interface Count {
  add(by?: number): void;
}

/** A list that was served from the cache. */
interface CachedList {
  /** Label of the indexed field by which its entries were found. Default: none was. */
  readonly index?: string | undefined;
  /** Entries that were read. */
  readonly fetched: number;
  /** Those of them that are in the list. */
  readonly returned: number;
}

/** A list that was read from the store, by a client or to fill the cache. */
interface StoredList {
  /** Values that were read. */
  readonly fetched: number;
  /** Those of them that were decoded and looked at. */
  readonly evaluated: number;
  /** Those of them that are in the list. */
  readonly returned: number;
}

/** What the cache does for one resource, whichever its scope. A count is shown once there is something to count. */
export interface CollectionMetrics {
  /** Changes that came from the store. */
  readonly received: Count;
  /** Changes that were handed to the watches. */
  readonly dispatched: Count;
  /** Events with which a watch caught up when it began. */
  readonly initial: Count;
  /** Watches ended because they were not read. */
  readonly unresponsive: Count;
  /** Loads of the whole collection. */
  readonly initializations: Count;
  /** Values that are no objects of the resource. */
  readonly undecoded: Count;
  listed(list: CachedList): void;
  listedFromStore(list: StoredList): void;
  /** A list that asked for the newest state had it, or failed. */
  consistentRead(succeeded: boolean): void;
  /** A read waited for the cache to be new enough. */
  waited(seconds: number): void;
}

/** The metrics of the collection with a prefix. */
export type CollectionMetricsOf = (prefix: string) => CollectionMetrics;

/** Defines the metrics, with the names of kube-apiserver. */
export function collectionMetrics(metrics: Metrics): CollectionMetricsOf {
  const definitions = define(metrics);
  const known = new Map<string, CollectionMetrics>();
  return (prefix) => {
    const folder = folderOf(prefix);
    const found = known.get(folder);
    if (found) return found;
    const made = metricsOf(definitions, folder);
    if (known.size < limits.metricSeriesMax) known.set(folder, made);
    return made;
  };
}

/** Shows how far the cache is: one revision for all resources of a store, since they have one stream of changes. */
export function showRevisions(metrics: Metrics, cache: Pick<ObjectCache, 'collections'>): void {
  const revisions = metrics.gauge({
    name: 'apiserver_watch_cache_resource_version',
    common: true,
    help: 'The revision that the cache has reached.',
    labels: ['resource'],
  });
  let shown: ReadonlySet<string> = new Set();
  metrics.onCollect(() => {
    const before = shown;
    const now = new Map(cache.collections().map(({ prefix, line }) => [resourceOf(folderOf(prefix)), line.revision]));
    for (const [resource, revision] of now) revisions.set({ resource }, revision);
    for (const resource of before) if (!now.has(resource)) revisions.remove({ resource });
    shown = new Set(now.keys());
  });
}

function define(metrics: Metrics) {
  const byResource = (name: string, help: string) => metrics.counter({ name, help, labels: ['resource'] });
  const listed = (name: string, help: string) => byResource(`apiserver_storage_list_${name}`, help);
  const index = ['resource_prefix', 'index'] as const;
  return {
    received: byResource('apiserver_watch_cache_events_received_total', 'Changes that the cache got from the store.'),
    storeEvents: byResource('apiserver_storage_events_received_total', 'Changes that the store announced.'),
    dispatched: byResource('apiserver_watch_cache_events_dispatched_total', 'Changes handed to the watches.'),
    initial: byResource('apiserver_init_events_total', 'Events with which watches caught up when they began.'),
    unresponsive: byResource('apiserver_terminated_watchers_total', 'Watches ended because they were not read.'),
    initializations: byResource('apiserver_watch_cache_initializations_total', 'Loads of the whole resource.'),
    undecoded: byResource('apiserver_storage_decode_errors_total', 'Stored values that are no objects.'),
    lists: metrics.counter({ name: 'apiserver_cache_list_total', help: 'Lists served from the cache.', labels: index }),
    fetched: metrics.counter({
      name: 'apiserver_cache_list_fetched_objects_total',
      help: 'Objects read from the cache for lists.',
      labels: index,
    }),
    returned: metrics.counter({
      name: 'apiserver_cache_list_returned_objects_total',
      help: 'Objects in lists served from the cache.',
      labels: ['resource_prefix'],
    }),
    storeLists: listed('total', 'Lists read from the store.'),
    storeFetched: listed('fetched_objects_total', 'Objects read from the store for lists.'),
    storeEvaluated: listed('evaluated_objects_total', 'Objects looked at for lists from the store.'),
    storeReturned: listed('returned_objects_total', 'Objects in lists read from the store.'),
    consistent: metrics.counter({
      name: 'apiserver_watch_cache_consistent_read_total',
      help: 'Lists of the newest state, served from the cache.',
      labels: ['resource', 'success', 'fallback'],
    }),
    waits: metrics.histogram({
      name: 'apiserver_watch_cache_read_wait_seconds',
      help: 'Time that reads waited for the cache to be new enough, where it was not.',
      labels: ['resource'],
      buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
    }),
  };
}

function metricsOf(defined: ReturnType<typeof define>, folder: string): CollectionMetrics {
  const labels = { resource: resourceOf(folder) };
  const path = folder.slice(0, -1);
  const [received, storeEvents] = [
    bound(() => defined.received.of(labels)),
    bound(() => defined.storeEvents.of(labels)),
  ];
  const returned = bound(() => defined.returned.of({ resource_prefix: path }));
  const indexes = new Map<string, { readonly lists: Count; readonly fetched: Count }>();
  const indexOf = (index: string) => {
    const found = indexes.get(index);
    if (found) return found;
    const by = { resource_prefix: path, index };
    const made = { lists: defined.lists.of(by), fetched: defined.fetched.of(by) };
    indexes.set(index, made);
    return made;
  };
  const stored = [defined.storeLists, defined.storeFetched, defined.storeEvaluated, defined.storeReturned];
  const [storeLists, storeFetched, storeEvaluated, storeReturned] = stored.map((each) => bound(() => each.of(labels)));
  const read = (success: 'true' | 'false') =>
    bound(() => defined.consistent.of({ resource: path, success, fallback: 'false' }));
  const [succeeded, failed] = [read('true'), read('false')];
  let waits: HistogramSeries | undefined;
  return {
    received: {
      add(by) {
        received.add(by);
        storeEvents.add(by);
      },
    },
    dispatched: bound(() => defined.dispatched.of(labels)),
    initial: bound(() => defined.initial.of(labels)),
    unresponsive: bound(() => defined.unresponsive.of(labels)),
    initializations: bound(() => defined.initializations.of(labels)),
    undecoded: bound(() => defined.undecoded.of(labels)),
    listed(list) {
      const by = indexOf(list.index === undefined ? '' : `f:${list.index}`);
      by.lists.add();
      by.fetched.add(list.fetched);
      returned.add(list.returned);
    },
    listedFromStore(list) {
      storeLists?.add();
      storeFetched?.add(list.fetched);
      storeEvaluated?.add(list.evaluated);
      storeReturned?.add(list.returned);
    },
    consistentRead: (done) => (done ? succeeded : failed).add(),
    waited(seconds) {
      waits ??= defined.waits.of(labels);
      waits.observe(seconds);
    },
  };
}

/** A series that exists from its first use on. */
function bound(bind: () => Count): Count {
  let series: Count | undefined;
  return {
    add(by) {
      series ??= bind();
      series.add(by);
    },
  };
}
