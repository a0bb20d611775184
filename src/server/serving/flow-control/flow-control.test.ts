import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { dialects } from '../../../dialect/dialects.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { FlowControl } from './flow-control.ts';
import { SharedCapacity } from './shared-capacity.ts';
import type { Ticket } from './ticket.ts';

const own = new WeakSet<Exchange>();
let clock: ManualClock;
let metrics: Metrics;
let capacity: SharedCapacity;
let control: FlowControl;
beforeEach(() => {
  clock = new ManualClock();
  control = controlOf('kubernetes');
});

function controlOf(dialect: keyof typeof dialects): FlowControl {
  metrics = new Metrics();
  capacity = new SharedCapacity({
    clock,
    dialect: dialects[dialect],
    metrics,
    max: { reads: 400, writes: 200 },
    requestMsMax: limits.requestMsMax,
  });
  return inScope('');
}

const inScope = (name: string): FlowControl =>
  new FlowControl(capacity, {
    name,
    isLoopback: (exchange) => own.has(exchange),
    hasRole: ({ username }) => username !== 'nobody',
  });

const user = (username: string, ...groups: readonly string[]): UserInfo => ({
  username,
  uid: '',
  groups: [...groups, 'system:authenticated'],
  extra: {},
});

interface Asking {
  readonly method?: string;
  readonly target?: string;
  readonly impersonatedBy?: UserInfo;
}

function admit(who: UserInfo, { method = 'GET', target = '/api/v1/namespaces/n/pods', impersonatedBy }: Asking = {}) {
  const exchange = new ExchangeFixture(method, target);
  const info = parseRequestInfo(method, target);
  return { exchange, ticket: control.admit({ exchange, info, user: who, impersonatedBy }) };
}

const account = (namespace: string, name: string): UserInfo =>
  user(`system:serviceaccount:${namespace}:${name}`, 'system:serviceaccounts', `system:serviceaccounts:${namespace}`);
const node = user('system:node:n1', 'system:nodes');
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1';

describe('the flow schemas of kube-apiserver', () => {
  const rows: readonly (readonly [who: UserInfo, asking: Asking, schema: string, level: string, flow: string])[] = [
    [user('root', 'system:masters'), {}, 'exempt', 'exempt', ''],
    [user('system:kube-controller-manager'), { target: leases }, 'system-leader-election', 'leader-election', ''],
    [
      account('kube-system', 'lead'),
      { method: 'PUT', target: leases },
      'system-leader-election',
      'leader-election',
      '',
    ],
    [node, { method: 'PUT', target: leases }, 'system-node-high', 'node-high', ''],
    [node, { method: 'PATCH', target: '/api/v1/nodes/n1/status' }, 'system-node-high', 'node-high', ''],
    [node, {}, 'system-nodes', 'system', 'system:node:n1'],
    [user('system:kube-controller-manager'), {}, 'kube-controller-manager', 'workload-high', 'n'],
    [user('system:kube-scheduler'), {}, 'kube-scheduler', 'workload-high', 'n'],
    [account('kube-system', 'gc'), {}, 'kube-system-service-accounts', 'workload-high', 'n'],
    [account('team', 'bot'), {}, 'service-accounts', 'workload-low', 'system:serviceaccount:team:bot'],
    [account('team', 'bot'), { target: leases }, 'service-accounts', 'workload-low', ''],
    [user('jane'), {}, 'global-default', 'global-default', 'jane'],
    [user('nobody'), {}, 'catch-all', 'catch-all', 'nobody'],
  ];
  for (const [who, asking, schema, level, flow] of rows) {
    test(`${who.username} ${asking.method ?? 'GET'} ${asking.target ?? ''}: ${schema}`, () => {
      const { ticket } = admit(who, asking);
      assert.deepEqual([ticket.schema.name, ticket.schema.level], [schema, level]);
      if (flow !== '') assert.equal(ticket.key, flow);
    });
  }

  test('carry the names of the dialect', () => {
    control = controlOf('orch');
    assert.equal(admit(account('orch-system', 'gc')).ticket.schema.name, 'orch-system-service-accounts');
    assert.equal(admit(account('kube-system', 'gc')).ticket.schema.name, 'service-accounts');
  });

  test('in-process clients are exempt, whatever their user', () => {
    const exchange = new ExchangeFixture('GET', '/api/v1/pods');
    own.add(exchange);
    const info = parseRequestInfo('GET', '/api/v1/pods');
    assert.equal(control.admit({ exchange, info, user: user('nobody') }).schema.level, 'exempt');
  });
});

describe('a tenant', () => {
  const tenant = (who: UserInfo, impersonatedBy?: UserInfo): Ticket['tenant'] =>
    admit(who, impersonatedBy ? { impersonatedBy } : {}).ticket.tenant;

  test('is a user', () => {
    assert.equal(tenant(user('jane')), tenant(user('jane', 'other')));
    assert.notEqual(tenant(user('jane')), tenant(user('kate')));
  });

  test('is all service accounts of a namespace, except in the system namespace', () => {
    assert.equal(tenant(account('team', 'a')), tenant(account('team', 'b')));
    assert.notEqual(tenant(account('team', 'a')), tenant(account('other', 'a')));
    assert.notEqual(tenant(account('kube-system', 'a')), tenant(account('kube-system', 'b')));
  });

  test('is the authenticated user, also with impersonation', () => {
    assert.equal(tenant(user('kate'), user('jane')), tenant(user('jane')));
    assert.equal(admit(user('kate'), { impersonatedBy: user('jane') }).ticket.key, 'kate');
  });

  test('that is exempt has separate limits', () => {
    assert.notEqual(tenant(user('jane', 'system:masters')).shared, tenant(user('jane')).shared);
  });

  test('is dropped when idle', () => {
    const { shared } = tenant(user('first'));
    for (let n = 0; n < 10 * limits.idleTenantsKept; n++) admit(user(`u${n}`)).exchange.end();
    assert.ok(shared.size <= 2 * limits.idleTenantsKept, `${shared.size}`);
    assert.equal(shared.requests.used, 1, 'that of the first');
    assert.equal(tenant(user('first')).requests.held, 2, 'it is still known');
  });

  test('stays while its connections write much at once', () => {
    const first = admit(user('first'));
    const { sender } = first.ticket.tenant;
    sender.largeWriters = 1;
    first.exchange.end();
    for (let n = 0; n < 4 * limits.idleTenantsKept; n++) admit(user(`u${n}`)).exchange.end();
    assert.equal(tenant(user('first')).sender, sender);
  });
});

describe('requests under way', () => {
  const tooMany = (error: unknown): boolean => error instanceof StatusError && error.code === 429;

  test('of one tenant are limited to half of all, and others get theirs', () => {
    const flood = Array.from({ length: limits.requestsUnderWayMax / 2 }, () => admit(user('flood')));
    assert.throws(() => admit(user('flood')), tooMany);
    assert.throws(() => admit(user('kate'), { impersonatedBy: user('flood') }), tooMany);
    admit(user('jane')).exchange.end();
    for (const { exchange } of flood) exchange.end();
    admit(user('flood'));
  });

  test('with unread answers make room for new ones of the same tenant, oldest first', () => {
    const anonymous = user('system:anonymous', 'system:unauthenticated');
    const probes = Array.from({ length: limits.requestsUnderWayMax / 2 }, () => {
      const made = admit(anonymous, { target: '/readyz' });
      made.exchange.unsent = 2;
      control.answered(made.ticket);
      return made;
    });
    for (let n = 0; n < 3; n++) {
      const { ticket } = admit(anonymous, { target: '/readyz' });
      assert.equal(ticket.tenant.requests.held, limits.requestsUnderWayMax / 2);
    }
    assert.deepEqual(
      probes.slice(0, 4).map(({ exchange }) => exchange.destroyed),
      [true, true, true, false],
    );
  });

  test('count until the client has the answer; watches only until they are open', () => {
    const [read, watch] = [admit(user('jane')), admit(user('jane'), { target: '/api/v1/pods?watch=1' })];
    const { tenant } = read.ticket;
    control.answered(read.ticket);
    watch.ticket.longRunning = true;
    control.answered(watch.ticket);
    assert.equal(tenant.requests.held, 1);
    watch.exchange.end();
    read.exchange.end();
    assert.equal(tenant.requests.held, 0);
  });
});

test('seats and waiting requests are counted by flow schema', async () => {
  const shown = () =>
    (
      metrics.render().match(/^apiserver_flowcontrol_(?:current_\w+_requests|dispatched_\w+)\{.*global-default.*$/gm) ??
      []
    )
      .map((line) => line.split(' ').at(-1))
      .join(' ');
  const seated: Ticket[] = [];
  for (;;) {
    const { ticket } = admit(user('jane'));
    const seat = control.pools.mutating.tryAcquire(ticket);
    if (!seat) break;
    ticket.seated(seat, control.pools.mutating);
    seated.push(ticket);
  }
  const { ticket: late } = admit(user('jane'));
  const waiting = control.pools.mutating.wait(late, new AbortController().signal);
  const { length } = seated;
  // Executing, waiting, dispatched.
  assert.equal(shown(), `${length} 1 ${length}`);
  seated[0]?.release();
  late.seatedLate(await waiting, control.pools.mutating);
  assert.equal(shown(), `${length} 0 ${length + 1}`);
  // Those that waited for nothing, without looking at the clock; one that did, for no time; each once, whoever looks how often.
  const waits = () =>
    ['bucket', 'count'].map((part) => {
      const labels = 'flow_schema="global-default",priority_level="global-default",execute="true"';
      const bound = part === 'bucket' ? ',le="0"' : '';
      return new RegExp(`_wait_duration_seconds_${part}\\{${labels}${bound}\\} (\\d+)`).exec(metrics.render())?.[1];
    });
  for (const _ of [1, 2]) assert.deepEqual(waits(), [`${length + 1}`, `${length + 1}`]);
  const { ticket: exempt } = admit(user('root', 'system:masters'));
  exempt.seated(await control.pools.mutating.take(exempt, new AbortController().signal), control.pools.mutating);
  assert.doesNotMatch(metrics.render(), /_wait_duration_seconds_\w+\{[^}]*exempt/);
  exempt.release();
  for (const ticket of [...seated.slice(1), late]) ticket.release();
  late.release();
  assert.equal(shown(), `0 0 ${length + 1}`);
});

test('the seats of a level', () => {
  const text = metrics.render();
  const [lower, nominal, upper] = ['lower', 'nominal', 'upper'].map((limit) =>
    Number(
      RegExp(`^apiserver_flowcontrol_${limit}_limit_seats\\{priority_level="global-default"\\} (\\d+)$`, 'm').exec(
        text,
      )?.[1],
    ),
  );
  // Of 400 for reads, 200 for writes and 200 for reviews: 20 of 245 shares, of which half is lent.
  assert.deepEqual([lower, nominal], [16 + 8 + 8, 33 + 17 + 17]);
  assert.ok((upper ?? 0) > 67 && (upper ?? 0) < 800);
});

test('seat and body are released when the answer is handed over, not when it is read', () => {
  const { ticket } = admit(user('jane'));
  const seat = control.pools.mutating.tryAcquire(ticket);
  if (seat) ticket.seated(seat, control.pools.mutating);
  let given = 0;
  ticket.body = { bytes: Buffer.alloc(0), release: () => given++ };
  control.answered(ticket);
  assert.deepEqual([control.pools.mutating.inFlight, given], [0, 1]);
});

describe('answers that are not read', () => {
  const mebibyte = 1024 * 1024;
  const answered = (who: UserInfo, bytes: number) => {
    const made = admit(who);
    made.exchange.unsent = bytes;
    control.answered(made.ticket);
    return made;
  };

  test('are kept up to the share of the tenant; then the oldest are cut off', () => {
    const all = Array.from({ length: 200 }, () => answered(user('slow'), mebibyte));
    const { tenant } = answered(user('slow'), 1).ticket;
    assert.ok(tenant.unreadBytes.held <= limits.unreadBytesMax / 2);
    const cut = all.map(({ exchange }) => exchange.destroyed);
    assert.equal(cut.lastIndexOf(true), cut.indexOf(false) - 1, 'the oldest first');
    assert.ok(cut.includes(true) && cut.includes(false));
    assert.equal(answered(user('other'), 10 * mebibyte).exchange.destroyed, false);
    for (const { exchange } of all) exchange.end();
    assert.equal(tenant.unreadBytes.held, 1);
  });

  test('that were read in the meantime are not cut off', () => {
    const all = Array.from({ length: 127 }, () => answered(user('slow'), mebibyte));
    for (const { exchange } of all) exchange.unsent = 0;
    const next = Array.from({ length: 60 }, () => answered(user('slow'), mebibyte));
    assert.ok([...all, ...next].every(({ exchange }) => !exchange.destroyed));
  });

  test('that exceed any share are cut off', () => {
    assert.equal(answered(user('slow'), limits.unreadBytesMax + 1).exchange.destroyed, true);
  });
});

test('writes are stalled if none has ended for long while others wait', async () => {
  const { ticket } = admit(user('jane'));
  const seats = [];
  for (let seat = control.pools.mutating.tryAcquire(ticket); seat; seat = control.pools.mutating.tryAcquire(ticket)) {
    seats.push(seat);
  }
  const stop = new AbortController();
  const waiting = control.pools.mutating.wait(ticket, stop.signal).catch(() => {});
  clock.advance(limits.writesStalledMsMax);
  assert.equal(capacity.writeProblem(), undefined);
  clock.advance(1_000);
  assert.match(capacity.writeProblem() ?? '', /^no write has ended for 11 s while others wait$/);
  seats[0]?.release();
  assert.equal(capacity.writeProblem(), undefined);
  stop.abort();
  await waiting;
});

test('users of one name in different scopes are different tenants within the same limits', () => {
  const one = admit(user('jane')).ticket.tenant;
  control = inScope('b');
  const other = admit(user('jane')).ticket.tenant;
  assert.notEqual(other, one);
  assert.equal(admit(user('jane')).ticket.tenant, other);
  assert.equal(other.shared, one.shared);
});
