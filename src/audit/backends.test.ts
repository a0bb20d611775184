import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import type { LogFields } from '../base/log-lines.ts';
import { silentLogger } from '../base/logger.ts';
import { Metrics } from '../base/metrics.ts';
import { seededRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { orch } from '../dialect/orch.ts';
import type { AuditBackend, AuditSink } from './backend.ts';
import { Batching, type BatchOptions } from './batching.ts';
import { blockingBackend } from './blocking.ts';
import type { AuditEvent } from './event.ts';
import { type EncodedEvent, EventEncoder } from './event-encoder.ts';
import { auditEvent } from './event-fixture.ts';
import { lostEvents } from './lost-events.ts';
import { truncating } from './truncation.ts';
import { unionBackend } from './union.ts';
import { webhookSink } from './webhook-sink.ts';

const encoder = new EventEncoder(orch);
const event = (auditId: string, more: Partial<AuditEvent> = {}): EncodedEvent =>
  encoder.encode(auditEvent({ auditId, ...more }));
const ids = (events: readonly EncodedEvent[]): string => events.map((each) => each.event.auditId).join('');

/** A sink whose sends end when the test says so. */
class SinkFixture implements AuditSink {
  readonly sent: { readonly ids: string; readonly done: () => void; readonly fail: (error: Error) => void }[] = [];
  hurried = false;
  closed = false;

  send(events: readonly EncodedEvent[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.sent.push({ ids: ids(events), done: resolve, fail: reject });
    return promise;
  }

  get batches(): readonly string[] {
    return this.sent.map((each) => each.ids);
  }

  hurry(): void {
    this.hurried = true;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

class LostFixture {
  readonly all: string[] = [];
  readonly report = (plugin: string, count: number, error: unknown): void => {
    this.all.push(`${plugin} ${count} ${error instanceof Error ? error.message : error}`);
  };
}

function batching(
  options: Partial<BatchOptions> = {},
  more: { readonly gatherMs?: number; readonly batchBytesMax?: number } = {},
) {
  const [sink, lost, clock] = [new SinkFixture(), new LostFixture(), new ManualClock()];
  const backend = new Batching({
    ...{ sink, plugin: 'webhook', lost: lost.report, clock },
    options: { bufferSize: 100, sizeMax: 2, waitMs: 1_000, ...options },
    batchBytesMax: Number.POSITIVE_INFINITY,
    ...more,
  });
  const add = (text: string): void => {
    for (const id of text) assert.equal(backend.process(event(id)), true);
  };
  return { sink, lost, clock, backend, add };
}

describe('batches of audit events', () => {
  it('are sent when they are full', async () => {
    const { sink, backend, add } = batching();
    add('abcde');
    await until(() => sink.batches.length === 2);
    assert.deepEqual(sink.batches, ['ab', 'cd']);
    for (const { done } of sink.sent) done();
    const closed = backend.close();
    await until(() => sink.batches.length === 3);
    sink.sent[2]?.done();
    await closed;
    assert.deepEqual([sink.batches, sink.closed], [['ab', 'cd', 'e'], true]);
  });

  it('are sent after a while even if they are not', async () => {
    const { sink, clock, add } = batching({ sizeMax: 10 });
    add('ab');
    clock.advance(999);
    assert.deepEqual(sink.batches, []);
    clock.advance(1);
    await until(() => sink.batches.length === 1);
    add('c');
    clock.advance(1_000);
    await until(() => sink.batches.length === 2);
    assert.deepEqual(sink.batches, ['ab', 'c']);
  });

  it('do not overflow: further events are lost, and requests do not wait', async () => {
    const { sink, lost, add } = batching({ bufferSize: 3, sizeMax: 10 });
    add('abcde');
    assert.deepEqual(lost.all, Array(2).fill('buffered 1 audit buffer queue blocked'));
    assert.deepEqual(sink.batches, []);
  });

  it('are limited in bytes if events are truncated', async () => {
    const { sink, add } = batching({ sizeMax: 4 }, { batchBytesMax: 2 * event('a').bytes });
    add('abcd');
    await until(() => sink.batches.length === 2);
    assert.deepEqual(sink.batches, ['ab', 'cd']);
  });

  it('are throttled: so many at once, then so many a second', async () => {
    const { sink, clock, add } = batching({ sizeMax: 1, throttle: { perSecond: 2, burst: 2 } });
    add('abcd');
    await until(() => sink.batches.length === 2);
    await until(() => clock.pending === 1);
    clock.advance(499);
    assert.deepEqual(sink.batches, ['a', 'b']);
    clock.advance(1);
    await until(() => sink.batches.length === 3);
  });

  it('are sent at once when the server stops', async () => {
    const { sink, add, backend } = batching({ sizeMax: 1, throttle: { perSecond: 1, burst: 1 } });
    add('abc');
    await until(() => sink.batches.length === 1);
    const closed = backend.close();
    assert.ok(sink.hurried);
    await until(() => sink.batches.length === 3);
    for (const { done } of sink.sent) done();
    await closed;
  });

  it('that cannot be sent are lost, and the next are sent', async () => {
    const { sink, lost, add } = batching();
    add('ab');
    await until(() => sink.batches.length === 1);
    sink.sent[0]?.fail(new Error('no'));
    await until(() => lost.all.length === 1);
    add('cd');
    await until(() => sink.batches.length === 2);
    assert.deepEqual(lost.all, ['webhook 2 no']);
  });

  it('are given up some time after the stop, and events after it are lost', async () => {
    const { sink, lost, clock, add, backend } = batching();
    add('ab');
    await until(() => sink.batches.length === 1);
    let closed = false;
    const closing = backend.close().then(() => {
      closed = true;
    });
    add('c');
    assert.deepEqual(lost.all, ['buffered 1 audit backend shut down']);
    clock.advance(limits.auditFlushMsMax - 1);
    assert.equal(closed, false);
    clock.advance(1);
    await closing;
    assert.ok(sink.closed);
  });
});

describe('a backend that blocks', () => {
  for (const [strict, allowed] of [
    [false, true],
    [true, false],
  ] as const) {
    it(`${strict ? 'strictly ' : ''}waits for the event, and ${strict ? 'refuses' : 'lets'} a request without one`, async () => {
      const [sink, lost] = [new SinkFixture(), new LostFixture()];
      const backend = blockingBackend({ sink, plugin: 'log', lost: lost.report, strict });
      const good = backend.process(event('a'));
      const bad = backend.process(event('b'));
      sink.sent[0]?.done();
      sink.sent[1]?.fail(new Error('full'));
      assert.deepEqual([await good, await bad], [true, allowed]);
      assert.deepEqual(lost.all, ['log 1 full']);
      const waiting = backend.process(event('c'));
      const closed = backend.close();
      assert.deepEqual([sink.hurried, sink.closed], [true, false]);
      sink.sent[2]?.done();
      await Promise.all([waiting, closed]);
      assert.ok(sink.closed);
    });
  }
});

describe('truncation', () => {
  const body = Buffer.alloc(1_000, '1');
  const bare = event('a', { level: 'Request' }).bytes;
  const run = (eventBytesMax: number, encoded: EncodedEvent) => {
    const [passed, lost]: [EncodedEvent[], LostFixture] = [[], new LostFixture()];
    const inner: AuditBackend = {
      process(passedOn) {
        passed.push(passedOn);
        return false;
      },
      async close() {},
    };
    const answer = truncating(inner, { encoder, lost: lost.report, eventBytesMax }).process(encoded);
    return { passed, lost: lost.all, answer };
  };

  it('leaves events as they are that fit', () => {
    const encoded = event('a', { level: 'Request', requestObject: body });
    const { passed, lost, answer } = run(encoded.bytes, encoded);
    assert.deepEqual([passed, lost, answer], [[encoded], [], false]);
  });

  it('takes the objects out of others', () => {
    const encoded = event('a', { level: 'RequestResponse', requestObject: body, responseObject: body });
    const { passed, lost } = run(bare + 100, encoded);
    const [only] = passed;
    assert.deepEqual([only?.event.requestObject, only?.event.responseObject, lost], [undefined, undefined, []]);
    assert.deepEqual([...(only?.event.annotations ?? [])], [['audit.orch.io/truncated', 'true']]);
  });

  it('drops what is too large all the same, and the request goes on', () => {
    for (const level of ['Metadata', 'Request'] as const) {
      const { passed, lost, answer } = run(bare, event('a', { level, userAgent: 'x'.repeat(200) }));
      assert.deepEqual([passed, lost, answer], [[], ['truncate 1 event is too large even after truncating'], true]);
    }
  });
});

describe('several backends', () => {
  const backend = (answer: boolean | Promise<boolean>): AuditBackend => ({ process: () => answer, async close() {} });
  it('must all record', async () => {
    assert.equal(unionBackend([backend(true), backend(true)]).process(event('a')), true);
    assert.equal(unionBackend([backend(true), backend(false)]).process(event('a')), false);
    assert.equal(await unionBackend([backend(Promise.resolve(true)), backend(false)]).process(event('a')), false);
    assert.equal(await unionBackend([backend(Promise.resolve(true)), backend(true)]).process(event('a')), true);
  });
});

describe('a webhook for audit events', () => {
  function posting(statuses: readonly (number | Error)[]) {
    const clock = new ManualClock();
    const bodies: string[] = [];
    const sink = webhookSink({
      sender: {
        async send(body) {
          const next = statuses[bodies.push(Buffer.from(body as Uint8Array).toString()) - 1];
          if (next instanceof Error) throw next;
          return { status: next ?? 200, body: Buffer.alloc(0), retryAfterSeconds: undefined };
        },
        close() {},
      },
      ...{ dialect: orch, clock, random: seededRandom(1), initialBackoffMs: 1_000 },
    });
    return { clock, bodies, sink };
  }

  it('gets an EventList', async () => {
    const { sink, bodies } = posting([]);
    await sink.send([event('a', { level: 'Request', requestObject: Buffer.from('{"x":1}') }), event('b')]);
    const { kind, apiVersion, metadata, items } = JSON.parse(bodies[0] ?? '');
    assert.deepEqual([kind, apiVersion, metadata], ['EventList', 'audit.orch.io/v1', {}]);
    assert.deepEqual(
      items.map((each: { auditID: string; requestObject: unknown }) => [each.auditID, each.requestObject]),
      [
        ['a', { x: 1 }],
        ['b', undefined],
      ],
    );
  });

  for (const failure of [404, 401, 500, 302, new Error('reset')]) {
    it(`is tried again after ${failure instanceof Error ? 'an error' : failure}, ever later`, async () => {
      const { sink, bodies, clock } = posting(Array(4).fill(failure));
      const sent = sink.send([event('a')]);
      for (const [attempts, waitMs] of [1_000, 1_500, 2_250, 3_375].entries()) {
        await until(() => bodies.length === attempts + 1 && clock.pending === 1);
        clock.advance(waitMs - 1);
        assert.equal(bodies.length, attempts + 1);
        clock.advance(1 + 0.2 * waitMs);
      }
      await sent;
      assert.equal(new Set(bodies).size, 1);
    });
  }

  it('is given up after the last attempt', async () => {
    const { sink, bodies, clock } = posting(Array(9).fill(500));
    const sent = assert.rejects(sink.send([event('a')]), /the webhook answered 500/);
    for (let attempts = 1; attempts < limits.webhookAttemptsMax; attempts++) {
      await until(() => bodies.length === attempts && clock.pending === 1);
      clock.advance(10_000);
    }
    await sent;
    assert.equal(bodies.length, limits.webhookAttemptsMax);
  });

  it('is tried once more, at once, when the server stops', async () => {
    const { sink, bodies, clock } = posting(Array(9).fill(new Error('down')));
    const sent = assert.rejects(sink.send([event('a')]), /down/);
    await until(() => clock.pending === 1);
    sink.hurry();
    await sent;
    assert.equal(bodies.length, 2);
  });
});

describe('lost audit events', () => {
  it('are all counted, and logged at once and then now and then', () => {
    const [clock, metrics, logged] = [new ManualClock(), new Metrics(), [] as (LogFields | undefined)[]];
    const errors = metrics.counter({ name: 'errors_total', help: '', labels: ['plugin'] });
    const logger = { ...silentLogger, error: (_: string, fields?: LogFields) => logged.push(fields) };
    const lost = lostEvents({ clock, errors, logger });
    const error = new Error('full');
    lost('log', 1, error);
    for (let more = 0; more < 5; more++) lost('log', 2, error);
    lost('webhook', 7, error);
    clock.advance(limits.auditLossReportMs);
    lost('log', 1, error);
    assert.deepEqual(logged, [
      { plugin: 'log', events: 1, error },
      { plugin: 'webhook', events: 7, error },
      { plugin: 'log', events: 11, error },
    ]);
    assert.match(metrics.render(), /errors_total\{plugin="log"\} 12\nerrors_total\{plugin="webhook"\} 7/);
  });
});
