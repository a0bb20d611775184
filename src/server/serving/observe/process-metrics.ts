import type { Closable } from '../../../base/disposable.ts';
import type { Gauge, Metrics } from '../../../base/metrics.ts';
import { collectionKinds, type ProcessUsage, type WatchCollections } from '../../../base/process-usage.ts';

/** What the process takes, under the names of the usual libraries for processes and for this runtime. */
export function observeProcess(metrics: Metrics, measure: () => Promise<ProcessUsage>): void {
  let usage: ProcessUsage | undefined;
  metrics.onRefresh(async () => {
    usage = await measure();
  });
  metrics.totals(
    { name: 'process_cpu_seconds_total', common: true, help: 'CPU time of the process, user and system.', labels: [] },
    () => (usage ? [[{}, usage.cpuSeconds]] : []),
  );
  const gauges = gaugesOf(metrics);
  const spaces = heapSpaces(metrics);
  metrics.onCollect(() => {
    if (!usage) return;
    for (const { gauge, read } of gauges) {
      const value = read(usage);
      if (value !== undefined) gauge.set({}, value);
    }
    for (const space of usage.heap.spaces) spaces(space);
  });
  runtimeVersion(metrics);
}

type Read = (usage: ProcessUsage) => number | undefined;

function gaugesOf(metrics: Metrics): readonly { readonly gauge: Gauge<never>; readonly read: Read }[] {
  const gauge = (name: string, help: string, read: Read) => ({
    gauge: metrics.gauge({ name, common: name.startsWith('process_'), help, labels: [] }),
    read,
  });
  return [
    gauge('process_start_time_seconds', 'Start of the process, in Unix time.', (usage) => usage.startedAtSeconds),
    gauge('process_resident_memory_bytes', 'Memory of the process in RAM.', (usage) => usage.residentBytes),
    gauge('process_virtual_memory_bytes', 'Address space of the process.', (usage) => usage.virtualBytes),
    gauge('process_virtual_memory_max_bytes', 'Limit on the address space.', (usage) => usage.virtualBytesMax),
    gauge('process_open_fds', 'Open file descriptors.', (usage) => usage.openFiles),
    gauge('process_max_fds', 'Limit on open file descriptors.', (usage) => usage.openFilesMax),
    gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', ({ heap }) => heap.totalBytes),
    gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', ({ heap }) => heap.usedBytes),
    gauge('nodejs_external_memory_bytes', 'Memory of buffers outside of the heap.', ({ heap }) => heap.externalBytes),
  ];
}

function heapSpaces(metrics: Metrics): (space: ProcessUsage['heap']['spaces'][number]) => void {
  const gauge = (part: string) =>
    metrics.gauge({
      name: `nodejs_heap_space_size_${part}_bytes`,
      help: `Bytes of each space of the heap: ${part}.`,
      labels: ['space'],
    });
  const [total, used, available] = [gauge('total'), gauge('used'), gauge('available')];
  return ({ space_name: name, space_size, space_used_size, space_available_size }) => {
    const labels = { space: name.replace(/_space$/, '') };
    total.set(labels, space_size);
    used.set(labels, space_used_size);
    available.set(labels, space_available_size);
  };
}

function runtimeVersion(metrics: Metrics): void {
  const info = metrics.gauge({
    name: 'nodejs_version_info',
    common: true,
    help: 'Version of the runtime.',
    labels: ['version', 'major', 'minor', 'patch'],
  });
  const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');
  info.set({ version: process.version, major, minor, patch }, 1);
}

/** Durations of garbage collections until closed, under the name of the usual library for this runtime. */
export function observeCollections(metrics: Metrics, watch: WatchCollections): Closable {
  const durations = metrics.histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Durations of garbage collections of the main thread, by kind.',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
  });
  const series = new Map(collectionKinds.map((kind) => [kind, durations.of({ kind })]));
  return watch((kind, seconds) => series.get(kind)?.observe(seconds));
}
