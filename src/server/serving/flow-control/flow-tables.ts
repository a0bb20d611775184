import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { FlowMetrics, SchemaUsage } from './flow-metrics.ts';
import { exemptLevel } from './priority-levels.ts';
import type { SeatPool } from './seat-pool.ts';
import type { SharedLimits } from './tenant.ts';
import type { Level, TenantQueue, Waiter } from './tenant-queue.ts';

/**
 * What waits, and where, as kube-apiserver 1.32 shows it to people at `/debug/api_priority_and_fairness`: tables with its
 * columns. Each tenant that has or wants a seat of a level is a queue of it here, and each request takes one seat. Requests
 * that are executed are counted, not listed.
 */
export type FlowTable = 'dump_priority_levels' | 'dump_queues' | 'dump_requests';

const tables: ReadonlySet<string> = new Set<FlowTable>(['dump_priority_levels', 'dump_queues', 'dump_requests']);

export const isFlowTable = (name: string): name is FlowTable => tables.has(name);

interface Shown {
  readonly pools: Readonly<Record<string, Pick<SeatPool, 'levels'>>>;
  readonly metrics: Pick<FlowMetrics, 'usages'>;
  /** Whose tenants have queues. */
  readonly others: Pick<SharedLimits, 'tenants'>;
  readonly clock: Clock;
}

interface TableOptions {
  /** Also who sent the requests, and what they ask for. */
  readonly includeRequestDetails: boolean;
}

/** A table as text, with at most `limits.flowTableRowsMax` rows. */
export function flowTable(name: FlowTable, shown: Shown, options: TableOptions): string {
  switch (name) {
    case 'dump_priority_levels':
      return text([levelColumns, ...levelRows(shown)]);
    case 'dump_queues':
      return text([queueColumns, ...queueRows(shown)]);
    case 'dump_requests':
      return text([
        options.includeRequestDetails ? [...requestColumns, ...detailColumns] : requestColumns,
        ...requestRows(shown, options),
      ]);
  }
}

type Row = readonly string[];

const levelColumns: Row = [
  ...['PriorityLevelName', 'ActiveQueues', 'IsIdle', 'IsQuiescing', 'WaitingRequests', 'ExecutingRequests'],
  ...['DispatchedRequests', 'RejectedRequests', 'TimedoutRequests', 'CancelledRequests'],
];
const queueColumns: Row = [
  ...['PriorityLevelName', 'Index', 'PendingRequests', 'ExecutingRequests', 'SeatsInUse', 'NextDispatchR'],
  ...['InitialSeatsSum', 'MaxSeatsSum', 'TotalWorkSum'],
];
/** Spelled as published. */
const requestColumns: Row = [
  ...['PriorityLevelName', 'FlowSchemaName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistingsher', 'ArriveTime'],
  ...['InitialSeats', 'FinalSeats', 'AdditionalLatency', 'StartTime'],
];
const detailColumns: Row = [
  'UserName',
  'Verb',
  'APIPath',
  'Namespace',
  'Name',
  'APIVersion',
  'Resource',
  'SubResource',
];

/** There is no virtual time, and what a request will take is not estimated. */
const noWork = '0.00000000ss';
const notYet = '0001-01-01T00:00:00Z';

/** The levels of all pools by name, in order. */
function levelsByName({ pools }: Shown): readonly (readonly [name: string, levels: readonly Level[]])[] {
  const byName = Map.groupBy(
    Object.values(pools).flatMap((pool) => [...pool.levels()]),
    ({ definition }) => definition.name,
  );
  return [...byName].sort(([one], [other]) => (one < other ? -1 : 1));
}

const noUsage: SchemaUsage = {
  dispatched: 0,
  late: 0,
  executing: 0,
  waiting: 0,
  rejected: 0,
  timedOut: 0,
  cancelled: 0,
};

function levelRows(shown: Shown): readonly Row[] {
  const usages = [...shown.metrics.usages()];
  return levelsByName(shown)
    .slice(0, limits.flowTableRowsMax)
    .map(([name, levels]) => {
      const used = usages
        .filter(({ schema }) => schema.level === name)
        .reduce((sum, { usage }) => added(sum, usage), noUsage);
      const inFlight = levels.reduce((sum, level) => sum + level.inFlight, 0);
      // Requests of that level need no seat, and are counted by their schema alone.
      const executing = name === exemptLevel ? used.executing : inFlight;
      const waiting = levels.reduce((sum, level) => sum + level.waiting, 0);
      const active = levels.reduce((sum, { queues }) => sum + queues.size, 0);
      return [
        ...[name, String(active), String(executing + waiting === 0), String(levels.every(({ isGone }) => isGone))],
        ...[waiting, executing, used.dispatched, used.rejected, used.timedOut, used.cancelled].map(String),
      ];
    });
}

const added = (one: SchemaUsage, other: SchemaUsage): SchemaUsage => ({
  dispatched: one.dispatched + other.dispatched,
  late: one.late + other.late,
  executing: one.executing + other.executing,
  waiting: one.waiting + other.waiting,
  rejected: one.rejected + other.rejected,
  timedOut: one.timedOut + other.timedOut,
  cancelled: one.cancelled + other.cancelled,
});

interface PlacedQueue {
  readonly level: string;
  readonly index: number;
  readonly queue: TenantQueue;
}

/** Queues in use, by level. Their numbers are those of this look. */
function* queuesInUse(shown: Shown): Generator<PlacedQueue, void> {
  const levels = levelsByName(shown);
  const found = new Map<Level, TenantQueue[]>(levels.flatMap(([, each]) => each.map((level) => [level, []] as const)));
  for (const tenant of shown.others.tenants()) {
    for (const queue of tenant.queues.values()) {
      if (queue.inFlight + queue.waiting.size > 0) found.get(queue.level)?.push(queue);
    }
  }
  for (const [name, each] of levels) {
    for (const [index, queue] of each.flatMap((level) => found.get(level) ?? []).entries()) {
      yield { level: name, index, queue };
    }
  }
}

const queueRows = (shown: Shown): readonly Row[] =>
  queuesInUse(shown)
    .take(limits.flowTableRowsMax)
    .map(({ level, index, queue }) => [
      ...[level, index, queue.waiting.size, queue.inFlight, queue.inFlight].map(String),
      ...[noWork, String(queue.waiting.size), String(queue.waiting.size), noWork],
    ])
    .toArray();

function requestRows(shown: Shown, options: TableOptions): readonly Row[] {
  const rows: Row[] = [];
  for (const { level, index, queue } of queuesInUse(shown)) {
    let place = 0;
    for (const waiter of queue.waiting) {
      if (rows.length === limits.flowTableRowsMax) return rows;
      const { schema, key } = waiter.flow;
      rows.push([
        ...[level, schema.name, String(index), String(place++), key, arrivalOf(waiter, shown.clock)],
        ...['1', '0', '0s', notYet],
        ...(options.includeRequestDetails ? detailsOf(waiter) : []),
      ]);
    }
  }
  return rows;
}

/** Without zeros at the end, as Go writes times. */
function arrivalOf({ sinceMs }: Waiter, clock: Clock): string {
  const at = new Date(clock.now() - (clock.monotonic() - sinceMs)).toISOString();
  return at.replace(/\.?0*Z$/, 'Z');
}

function detailsOf({ flow: { request } }: Waiter): Row {
  if (!request) return detailColumns.map(() => '');
  const { info, user } = request;
  if (info.type !== 'resource') return [user.username, info.verb, info.path, '', '', '', '', ''];
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return [user.username, verb, path, namespace, name, apiVersion, resource, subresource];
}

/** Cells end with commas, and columns are as wide as their widest cell: eight characters at least. */
function text(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell, at) => (at < row.length - 1 ? `${plain(cell)},` : plain(cell))));
  const widths = (cells[0] ?? []).map((_, at) =>
    cells.reduce((most, row) => Math.max(most, (row[at] ?? '').length + 1), 8),
  );
  const line = (row: Row): string =>
    row.map((cell, at) => (at < row.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell)).join('');
  return `${cells.map(line).join('\n')}\n`;
}

const plain = (cell: string): string => cell.replace(/\p{Cc}/gu, ' ');
