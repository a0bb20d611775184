import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { BodyIntake } from './body-intake.ts';
import { flowMetrics } from './flow-metrics.ts';
import { SharedLimits } from './tenant.ts';

/** A request whose body arrives when the test says so. */
class Upload extends ExchangeFixture {
  readonly #body = Promise.withResolvers<Buffer>();
  readonly #parts: Buffer[] = [];
  #received: (bytes: number) => void = () => {};

  constructor() {
    super('POST', '/');
    this.#body.promise.catch(() => {});
  }

  override body(_bytesMax: number, received: (bytes: number) => void = () => {}): Promise<Buffer> {
    this.#received = received;
    return this.#body.promise;
  }

  send(bytes: number): void {
    this.#parts.push(Buffer.alloc(bytes));
    this.#received(bytes);
  }

  finish(): void {
    this.#body.resolve(Buffer.concat(this.#parts));
  }

  override abort(reason: Error): void {
    super.abort(reason);
    this.#body.reject(reason);
  }
}

let clock: ManualClock;
let metrics: Metrics;
let shared: SharedLimits;
let intake: BodyIntake;
beforeEach(() => {
  clock = new ManualClock();
  metrics = new Metrics();
  shared = new SharedLimits();
  intake = new BodyIntake({ clock, metrics: flowMetrics(metrics) });
});

function upload(tenant: string) {
  const exchange = new Upload();
  const received = intake.receive({ exchange, tenant: shared.tenant(tenant) });
  received.catch(() => {});
  return { exchange, received };
}

const status = (code: number) => (error: unknown) => error instanceof StatusError && error.code === code;
const perStretch = (limits.bodyBytesPerSecondMin * limits.bodyGraceMs) / 1000;

test('a body is received in full and counted until it is released', async () => {
  const { exchange, received } = upload('a');
  exchange.send(10);
  exchange.send(20);
  assert.deepEqual([intake.arriving, shared.bodies.used, shared.bodyBytes.used], [1, 1, 30]);
  exchange.finish();
  const body = await received;
  assert.equal(body.bytes.length, 30);
  assert.deepEqual([intake.arriving, shared.bodies.used, shared.bodyBytes.used], [0, 0, 30]);
  body.release();
  body.release();
  assert.equal(shared.bodyBytes.used, 0);
});

describe('a body is aborted with 408', () => {
  for (const [what, before] of [
    ['if nothing arrives', 0],
    ['if too little arrives', perStretch - 1],
  ] as const) {
    test(what, async () => {
      const { exchange, received } = upload('a');
      exchange.send(before);
      clock.advance(limits.bodyGraceMs + 1_000);
      await assert.rejects(received, status(408));
      assert.deepEqual([intake.arriving, shared.bodies.used, shared.bodyBytes.used], [0, 0, 0]);
      assert.match(metrics.render(), /request_bodies_given_up_total\{reason="slow"\} 1/);
    });
  }

  test('if it stalls, however much arrived before', async () => {
    const { exchange, received } = upload('a');
    exchange.send(1024 * 1024);
    clock.advance(limits.bodyGraceMs + 1_000);
    await assert.rejects(received, status(408));
  });

  test('if it arrives in bursts that are too slow on average', async () => {
    const { exchange, received } = upload('a');
    for (let passed = 0; passed < 10 * limits.bodyGraceMs; passed += limits.bodyGraceMs - 1_000) {
      exchange.send(perStretch / 2);
      clock.advance(limits.bodyGraceMs - 1_000);
    }
    await assert.rejects(received, status(408));
  });
});

test('a body that is fast enough is not aborted', async () => {
  const { exchange, received } = upload('a');
  for (let passed = 0; passed < 10 * limits.bodyGraceMs; passed += 1_000) {
    exchange.send(perStretch / 5);
    clock.advance(1_000);
  }
  exchange.finish();
  assert.equal((await received).bytes.length, 10 * perStretch);
});

test('a tenant has its share of the bodies at once, and leaves some for others', async () => {
  const half = limits.bodiesReceivedAtOnceMax / 2;
  const flood = Array.from({ length: half + 100 }, () => upload('flood'));
  for (const { received } of flood.slice(half)) await assert.rejects(received, status(429));
  const other = upload('other');
  other.exchange.finish();
  await other.received;
  clock.advance(limits.bodyGraceMs + 1_000);
  await Promise.allSettled(flood.map(({ received }) => received));
  assert.deepEqual([intake.arriving, shared.bodies.used], [0, 0]);
  clock.advance(1_000);
  assert.equal(clock.pending, 0, 'nobody looks any more');
});

test('a tenant has its share of the bytes, and leaves some for others', async () => {
  const flood = Array.from({ length: 50 }, () => upload('flood'));
  for (const { exchange } of flood) if (!exchange.signal.aborted) exchange.send(limits.bodyBytesMax);
  const refused = flood.filter(({ exchange }) => exchange.signal.aborted);
  assert.equal(flood.length - refused.length, Math.floor(limits.bodyBytesHeldMax / 2 / limits.bodyBytesMax));
  for (const { received } of refused) await assert.rejects(received, status(429));
  const other = upload('other');
  other.exchange.send(limits.bodyBytesMax);
  other.exchange.finish();
  assert.equal((await other.received).bytes.length, limits.bodyBytesMax);
});

test('ends with the server', () => {
  upload('a');
  intake.close();
  assert.equal(clock.pending, 0);
});
