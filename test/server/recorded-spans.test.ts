import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { seededRandom } from '../../src/base/random.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { openTelemetry } from '../../src/outbound/tracing/open-telemetry.ts';
import type { Tracer } from '../../src/outbound/tracing/tracer.ts';
import { type CollectedSpan, clientKind, serverKind, TraceCollector } from '../support/trace-collector.ts';

/** What a collector gets of the spans that a tracer records. */

const startMs = Date.UTC(2026, 0, 31, 12);
const internalKind = 1;
const remote = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', sampled: true };

async function recorded(record: (tracer: Tracer, clock: ManualClock) => void): Promise<readonly CollectedSpan[]> {
  await using collector = await TraceCollector.start();
  const clock = new ManualClock(startMs);
  const parts = { clock, random: seededRandom(1), logger: silentLogger, metrics: new Metrics() };
  const tracer = openTelemetry({ type: 'tcp', authority: collector.address }, parts);
  record(tracer, clock);
  // Sends what waits.
  await tracer.close();
  return collector.spans;
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan =>
  spans.find((span) => span.name === name) ?? assert.fail(`no span ${name}`);

/** Milliseconds since the start. */
const timesOf = ({ startNs, endNs }: CollectedSpan): readonly number[] =>
  [startNs, endNs].map((ns) => Number(ns / 1_000_000n) - startMs);

describe('spans of a tracer', () => {
  it('have the times of the clock', async () => {
    const spans = await recorded((tracer, clock) => {
      clock.advance(1_000);
      const root = tracer.start('root', { startedMs: 400, attributes: {} });
      clock.advance(100);
      const child = root.child('child');
      clock.advance(100);
      child.end();
      clock.advance(100);
      root.end();
    });
    assert.deepEqual(timesOf(named(spans, 'root')), [400, 1_300]);
    assert.deepEqual(timesOf(named(spans, 'child')), [1_100, 1_200]);
  });

  it('have their kind, parent, attributes and outcome', async () => {
    const spans = await recorded((tracer) => {
      const root = tracer.start('root', { startedMs: 0, attributes: { a: 'b' }, link: remote });
      const [inner, call] = [root.child('inner', { n: 1 }), root.child('call', {}, 'client')];
      inner.event('reached', { len: 3 });
      call.fail();
      call.end();
      inner.end();
      root.set({ more: true });
      root.end();
    });
    const [root, inner, call] = ['root', 'inner', 'call'].map((name) => named(spans, name)) as CollectedSpan[];
    assert.deepEqual([root?.kind, inner?.kind, call?.kind], [serverKind, internalKind, clientKind]);
    assert.deepEqual([inner?.parentSpanId, call?.parentSpanId], [root?.spanId, root?.spanId]);
    assert.deepEqual([root?.attributes, inner?.attributes], [{ a: 'b', more: true }, { n: 1 }]);
    assert.deepEqual(inner?.events, [{ name: 'reached', attributes: { len: 3 } }]);
    assert.deepEqual([root?.failed, inner?.failed, call?.failed], [false, false, true]);
    assert.deepEqual(root?.links, [{ traceId: remote.traceId, spanId: remote.spanId }]);
    assert.equal(root?.parentSpanId, '');
  });

  it('continue a trace with its state, and take both on', async () => {
    const headers: Readonly<Record<string, string>>[] = [];
    const spans = await recorded((tracer) => {
      const root = tracer.start('root', { startedMs: 0, attributes: {}, parent: { ...remote, state: 'vendor=state' } });
      const call = root.child('call', {}, 'client');
      headers.push(root.headers, call.headers);
      call.end();
      root.end();
    });
    const { traceId, spanId } = remote;
    const [root, call] = [named(spans, 'root'), named(spans, 'call')];
    assert.deepEqual([root.traceId, root.parentSpanId, root.state], [traceId, spanId, 'vendor=state']);
    assert.deepEqual(
      headers,
      [root, call].map(({ spanId: id }) => ({ traceparent: `00-${traceId}-${id}-01`, tracestate: 'vendor=state' })),
    );
  });

  it('end once, and say nothing after it', async () => {
    const spans = await recorded((tracer, clock) => {
      const root = tracer.start('root', { startedMs: 0, attributes: {} });
      root.end();
      clock.advance(1_000);
      root.set({ late: true });
      root.event('late');
      root.fail();
      root.end();
    });
    assert.equal(spans.length, 1);
    const root = named(spans, 'root');
    assert.deepEqual(timesOf(root), [0, 0]);
    assert.deepEqual([root.attributes, root.events, root.failed], [{}, [], false]);
  });
});
