import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import { orch } from '../../../dialect/orch.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { FlowControl } from './flow-control.ts';
import { SharedCapacity } from './shared-capacity.ts';
import type { Ticket } from './ticket.ts';

/** What requests hold and give back beside their seats. */

const clock = new ManualClock();
const target = '/api/v1/namespaces/n/pods/x';
const info = parseRequestInfo('GET', target);
const isTooMany = { code: 429, reason: 'TooManyRequests' } as const;

let control: FlowControl;
beforeEach(() => {
  const max = { reads: 40, writes: 40 };
  const metrics = new Metrics();
  const capacity = new SharedCapacity({ clock, dialect: orch, metrics, max, requestMsMax: limits.requestMsMax });
  control = new FlowControl(capacity, { name: '', isLoopback: () => false, hasRole: () => true });
});

const admit = (username = 'jane'): Ticket & { readonly exchange: ExchangeFixture } => {
  const user = { username, uid: '', groups: ['system:authenticated'], extra: {} };
  return control.admit({ exchange: new ExchangeFixture('GET', target), info, user }) as never;
};

describe('a request that waits for a webhook', () => {
  /** A request with a seat; undefined if there is none. */
  const seated = (username?: string) => {
    const ticket = admit(username);
    const seat = control.pools.readOnly.tryAcquire(ticket);
    if (seat) ticket.seated(seat, control.pools.readOnly);
    return seat ? ticket : undefined;
  };
  const one = () => seated() ?? assert.fail('there is a seat');
  /** Takes all seats that a tenant can have. */
  const fill = (username: string): Ticket[] => {
    const held: Ticket[] = [];
    for (let ticket = seated(username); ticket; ticket = seated(username)) held.push(ticket);
    return held;
  };
  const readOnly = () => control.pools.readOnly;

  it('has no seat meanwhile, and one again afterwards', async () => {
    const ticket = one();
    const answer = Promise.withResolvers<string>();
    const waiting = ticket.awaitWebhook(() => answer.promise);
    assert.equal(readOnly().inFlight, 0);
    answer.resolve('converted');
    assert.equal(await waiting, 'converted');
    assert.equal(readOnly().inFlight, 1);
    ticket.release();
    assert.equal(readOnly().inFlight, 0);
  });

  it('has one again after a failure, too', async () => {
    const ticket = one();
    await assert.rejects(
      ticket.awaitWebhook(() => Promise.reject(new Error('no answer'))),
      /no answer/,
    );
    assert.equal(readOnly().inFlight, 1);
    ticket.release();
  });

  it('waits for a seat if others took it', async () => {
    const ticket = one();
    const answer = Promise.withResolvers<void>();
    const waiting = ticket.awaitWebhook(() => answer.promise);
    const others = fill('jane');
    answer.resolve();
    await until(() => readOnly().waiting === 1);
    others[0]?.release();
    await waiting;
    assert.equal(readOnly().inFlight, others.length);
  });

  it('counts once and has one seat, whatever the number of its parts that wait', async () => {
    const ticket = one();
    const answers = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const waiting = answers.map(({ promise }) => ticket.awaitWebhook(() => promise));
    assert.equal(ticket.tenant.webhookWaits.held, 1);
    for (const { resolve } of answers) resolve();
    await Promise.all(waiting);
    assert.equal(readOnly().inFlight, 1);
    assert.equal(ticket.tenant.webhookWaits.held, 0);
  });

  it('keeps no seat that it gets when it is over', async () => {
    const ticket = one();
    const answer = Promise.withResolvers<void>();
    const waiting = ticket.awaitWebhook(() => answer.promise);
    ticket.release();
    answer.resolve();
    await waiting;
    assert.equal(readOnly().inFlight, 0);
    const late = one();
    const again = late.awaitWebhook(async () => {});
    const others = fill('jane');
    await until(() => readOnly().waiting === 1);
    late.release();
    for (const other of others) other.release();
    await again;
    assert.equal(readOnly().inFlight, 0);
  });

  it('ends with its client', async () => {
    const ticket = one();
    const waiting = ticket.awaitWebhook(() => new Promise(() => {}));
    ticket.exchange.abort(new Error('the client is gone'));
    await assert.rejects(waiting, /the client is gone/);
    assert.deepEqual([readOnly().inFlight, ticket.tenant.webhookWaits.held], [0, 0]);
    await assert.rejects(
      ticket.awaitWebhook(() => assert.fail('it is asked')),
      /the client is gone/,
    );
  });

  it('is refused before it asks if its tenant has half of all waits, and others are not', async () => {
    const stop = new Error('the test ends');
    const tickets = Array.from({ length: limits.webhookWaitsMax / 2 }, () => admit());
    const waiting = tickets.map((ticket) => ticket.awaitWebhook(() => new Promise(() => {})));
    await assert.rejects(
      admit().awaitWebhook(() => assert.fail('it is asked')),
      isTooMany,
    );
    assert.equal(await admit('kate').awaitWebhook(async () => 'asked'), 'asked');
    assert.ok(!tickets[0]?.tenant.isIdle);
    for (const { exchange } of tickets) exchange.abort(stop);
    for (const { status } of await Promise.allSettled(waiting)) assert.equal(status, 'rejected');
    assert.equal(tickets[0]?.tenant.webhookWaits.held, 0);
  });
});

it('a list is compressed while it is sent unless its tenant has half of all compressors, until it ends', () => {
  const lists = Array.from({ length: limits.listCompressorsMax / 2 }, () => admit());
  assert.ok(lists.every((list) => list.holdCompressor()));
  assert.ok(!admit().holdCompressor());
  assert.ok(admit('kate').holdCompressor());
  for (const { exchange } of lists) exchange.end();
  assert.equal(lists[0]?.tenant.compressors.held, 0);
  assert.ok(admit().holdCompressor());
});
