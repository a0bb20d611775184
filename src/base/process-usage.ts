import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, type HeapSpaceInfo } from 'node:v8';
import type { Closable } from './disposable.ts';

/** What this process takes of the machine. What the system does not tell is undefined. */
export interface ProcessUsage {
  readonly startedAtSeconds: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number | undefined;
  readonly virtualBytesMax: number | undefined;
  readonly openFiles: number | undefined;
  readonly openFilesMax: number | undefined;
  readonly heap: {
    readonly totalBytes: number;
    readonly usedBytes: number;
    readonly externalBytes: number;
    readonly spaces: readonly HeapSpaceInfo[];
  };
}

/** Never rejects. The number of open files is counted by the system's own list, off the main thread. */
export async function readProcessUsage(): Promise<ProcessUsage> {
  const [status, files] = await Promise.all([
    readFile('/proc/self/status', 'latin1').catch(() => ''),
    readdir('/proc/self/fd').catch(() => undefined),
  ]);
  const { user, system } = process.cpuUsage();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const virtualKiB = /^VmSize:\s+(\d+) kB$/m.exec(status)?.[1];
  return {
    startedAtSeconds,
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    virtualBytes: virtualKiB === undefined ? undefined : Number(virtualKiB) * 1024,
    openFiles: files?.length,
    ...systemLimits(),
    heap: { totalBytes: heapTotal, usedBytes: heapUsed, externalBytes: external, spaces: getHeapSpaceStatistics() },
  };
}

const startedAtSeconds = performance.timeOrigin / 1000;

let readLimits: Pick<ProcessUsage, 'virtualBytesMax' | 'openFilesMax'> | undefined;

/** Read once: nobody changes them while we run. */
function systemLimits(): Pick<ProcessUsage, 'virtualBytesMax' | 'openFilesMax'> {
  if (readLimits) return readLimits;
  let text = '';
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // This system has no such file.
  }
  const softOf = (name: string): number | undefined => {
    const soft = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(text)?.[1];
    if (soft === undefined) return undefined;
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  };
  readLimits = { virtualBytesMax: softOf('Max address space'), openFilesMax: softOf('Max open files') };
  return readLimits;
}

/** Starts the runtime's event loop monitor. `resolution` is the sampling interval in milliseconds. */
export function monitorEventLoop(resolution: number): ReturnType<typeof monitorEventLoopDelay> {
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  return delays;
}

/** Kinds of garbage collections, as the usual library for this runtime calls them. */
export const collectionKinds = ['minor', 'major', 'incremental', 'weakcb'] as const;
type CollectionKind = (typeof collectionKinds)[number];

const kindByCode: ReadonlyMap<unknown, CollectionKind> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** Reports the garbage collections of this thread, soon after each, until closed. */
export type WatchCollections = (report: (kind: CollectionKind, seconds: number) => void) => Closable;

export const watchCollections: WatchCollections = (report) => {
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Entries of garbage collections have details that the types do not know.
      const { detail } = entry as { readonly detail?: { readonly kind?: unknown } };
      const kind = kindByCode.get(detail?.kind);
      if (kind) report(kind, entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return { close: () => observer.disconnect() };
};
