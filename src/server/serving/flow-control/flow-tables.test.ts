import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { kubernetes } from '../../../dialect/kubernetes.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { FlowControl } from './flow-control.ts';
import { type FlowTable, flowTable } from './flow-tables.ts';
import { SharedCapacity } from './shared-capacity.ts';
import type { Ticket } from './ticket.ts';

interface World {
  readonly clock: ManualClock;
  readonly capacity: SharedCapacity;
  admit(username: string, target?: string, groups?: readonly string[]): Ticket;
  show(name: FlowTable, includeRequestDetails?: boolean): string;
}

function world(reads = 8): World {
  const clock = new ManualClock();
  const capacity = new SharedCapacity({
    ...{ clock, dialect: kubernetes, metrics: new Metrics() },
    ...{ max: { reads, writes: reads }, requestMsMax: 60_000 },
  });
  const control = new FlowControl(capacity, { name: '', isLoopback: () => false, hasRole: () => true });
  return {
    clock,
    capacity,
    admit(username, target = '/api/v1/namespaces/n/pods/p', groups = []) {
      const exchange = new ExchangeFixture('GET', target);
      const user = { username, uid: '', groups: [...groups, 'system:authenticated'], extra: {} };
      return control.admit({ exchange, info: parseRequestInfo('GET', target), user });
    },
    show: (name, includeRequestDetails = false) => flowTable(name, capacity, { includeRequestDetails }),
  };
}

/** Cells of the lines of a table. */
const cellsOf = (text: string): readonly (readonly string[])[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/, */));

const linesOf = (text: string, level: string): readonly (readonly string[])[] =>
  cellsOf(text).filter(([name]) => name === level);

/** As many requests as it takes until one has to wait. */
function fill({ capacity, admit, clock }: World, username: string): { readonly seated: number } {
  for (let seated = 0; ; seated++) {
    const ticket = admit(username);
    const seat = capacity.pools.readOnly.take(ticket, ticket.exchange.signal);
    if (seat instanceof Promise) {
      seat.catch(() => {});
      return { seated };
    }
    ticket.seated(seat, capacity.pools.readOnly);
    clock.advance(0);
  }
}

test('tables of flow control: the levels of a server that does nothing', () => {
  const { show } = world();
  const text = show('dump_priority_levels');
  assert.equal(
    text.split('\n')[0],
    'PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests',
  );
  assert.equal(
    text.split('\n')[1],
    'catch-all,         0,            true,   false,       0,               0,                 0,                  0,                0,                0',
  );
  assert.deepEqual(
    cellsOf(text).map(([name]) => name),
    [
      ...['PriorityLevelName', 'catch-all', 'exempt', 'global-default', 'leader-election', 'node-high', 'system'],
      ...['workload-high', 'workload-low'],
    ],
  );
  assert.equal(show('dump_queues').split('\n').length, 2, 'a head alone');
});

test('tables of flow control: who has seats, waits, and gave up', async () => {
  const served = world();
  const { seated } = fill(served, 'jane');
  assert.ok(seated > 0);
  const level = 'global-default';
  const wait = (username: string): Ticket => {
    const ticket = served.admit(username);
    const seat = served.capacity.pools.readOnly.take(ticket, ticket.exchange.signal);
    assert.ok(seat instanceof Promise);
    seat.catch(() => {});
    return ticket;
  };
  wait('jane');
  const admin = served.admit('root', '/version', ['system:masters']);
  admin.seated(await served.capacity.pools.readOnly.take(admin, admin.exchange.signal), served.capacity.pools.readOnly);
  const [row] = linesOf(served.show('dump_priority_levels'), level);
  assert.deepEqual(row, [level, '1', 'false', 'false', '2', String(seated), String(seated), '0', '0', '0']);
  assert.deepEqual(linesOf(served.show('dump_priority_levels'), 'exempt')[0]?.slice(0, 7), [
    ...['exempt', '0', 'false', 'false', '0', '1', '1'],
  ]);
  assert.deepEqual(linesOf(served.show('dump_queues'), level), [
    [level, '0', '2', String(seated), String(seated), '0.00000000ss', '2', '2', '0.00000000ss'],
  ]);
  served.clock.advance(60_000 * limits.waitingPart);
  const [after] = linesOf(served.show('dump_priority_levels'), level);
  assert.deepEqual(after?.slice(4), ['0', String(seated), String(seated), '0', '2', '0']);
  served.capacity.close();
});

test('tables of flow control: requests that wait, with details where they are asked for', () => {
  const served = world();
  fill(served, 'jane');
  const [head, ...rows] = cellsOf(served.show('dump_requests'));
  assert.deepEqual(head, [
    ...['PriorityLevelName', 'FlowSchemaName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistingsher', 'ArriveTime'],
    ...['InitialSeats', 'FinalSeats', 'AdditionalLatency', 'StartTime'],
  ]);
  const arrived = new Date(served.clock.now()).toISOString().replace(/\.?0*Z$/, 'Z');
  const row = ['global-default', 'global-default', '0', '0', 'jane', arrived, '1', '0', '0s', '0001-01-01T00:00:00Z'];
  assert.deepEqual(rows, [row]);
  assert.deepEqual(cellsOf(served.show('dump_requests', true)).slice(1), [
    [...row, ...['jane', 'get', '/api/v1/namespaces/n/pods/p', 'n', 'p', 'v1', 'pods', '']],
  ]);
  served.capacity.close();
});

test('tables of flow control: they have a limited number of rows, and cells have no line breaks', () => {
  const served = world(1);
  fill(served, 'a\nb');
  for (let at = 0; at < limits.flowTableRowsMax + 5; at++) {
    const ticket = served.admit(`user-${at}`, '/api/v1/pods', ['system:serviceaccounts']);
    const seat = served.capacity.pools.readOnly.take(ticket, ticket.exchange.signal);
    if (seat instanceof Promise) seat.catch(() => {});
  }
  const lines = served.show('dump_requests').trimEnd().split('\n');
  assert.ok(lines.length > 2 && lines.length <= limits.flowTableRowsMax + 1, String(lines.length));
  assert.ok(lines.some((line) => line.includes('a b,')));
  served.capacity.close();
});
