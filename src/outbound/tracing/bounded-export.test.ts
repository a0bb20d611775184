import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { limits } from '../../base/limits.ts';
import { createLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { BoundedExport } from './bounded-export.ts';

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

const sent: Result = { code: 0 };
const refused = (message: string): Result => ({ code: 1, error: new Error(message) });
const span = {} as ReadableSpan;

/** Spans go through a queue that keeps them, and to a collector that answers with `answer`. */
function fixture() {
  const [clock, metrics] = [new ManualClock(), new Metrics()];
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const logger = createLogger({ level: 'debug', format: 'json', clock, write });
  const bounded = new BoundedExport({ clock, metrics, logger });
  const queued: ReadableSpan[] = [];
  const state = { answer: sent };
  const processor = bounded.processor({
    onStart() {},
    onEnd: (each) => queued.push(each),
    forceFlush: async () => {},
    shutdown: async () => {},
  } satisfies SpanProcessor);
  const exporter = bounded.exporter({
    export: (_, done) => done(state.answer),
    shutdown: async () => {},
  });
  const results: Result[] = [];
  return {
    bounded,
    clock,
    queued,
    results,
    state,
    end(count: number): void {
      for (let at = 0; at < count; at++) processor.onEnd(span);
    },
    /** Sends what waits. */
    send: () => exporter.export(queued.splice(0), (result) => results.push(result)),
    lost: () =>
      Object.fromEntries(
        [...metrics.render().matchAll(/^orch_traces_lost_spans_total\{reason="(\w+)"\} (\d+)$/gm)].map(
          ([, reason, count]) => [reason, Number(count)],
        ),
      ),
    told: () => lines.splice(0).map((line) => JSON.parse(line)),
  };
}

describe('spans that wait', () => {
  it('are bounded; more are counted, and taken again once some are sent', () => {
    const { end, send, lost, queued } = fixture();
    end(limits.traceSpansWaitingMax + 3);
    assert.equal(queued.length, limits.traceSpansWaitingMax);
    assert.deepEqual(lost(), { queue_full: 3, not_sent: 0 });
    send();
    end(1);
    assert.equal(queued.length, 1);
    assert.deepEqual(lost(), { queue_full: 3, not_sent: 0 });
  });

  it('make room as well when they cannot be sent', () => {
    const { end, send, lost, queued, state, results } = fixture();
    state.answer = refused('no');
    end(limits.traceSpansWaitingMax);
    send();
    end(1);
    assert.equal(queued.length, 1);
    assert.deepEqual(lost(), { queue_full: 0, not_sent: limits.traceSpansWaitingMax });
    assert.deepEqual(results, [state.answer]);
  });

  it('are lost at the end', () => {
    const { bounded, end, lost, told } = fixture();
    end(5);
    bounded.giveUp();
    assert.deepEqual(lost(), { queue_full: 0, not_sent: 5 });
    assert.deepEqual(
      told().map(({ msg, spans }) => [msg, spans]),
      [['spans were not sent in time', 5]],
    );
  });

  it('are not spoken of at the end if there are none', () => {
    const { bounded, end, send, told } = fixture();
    end(5);
    send();
    bounded.giveUp();
    assert.deepEqual(told(), []);
  });
});

describe('a collector that is away', () => {
  it('is reported once a minute, and so is its return', () => {
    const { clock, end, send, state, told } = fixture();
    const attempt = (answer: Result): string[] => {
      state.answer = answer;
      end(1);
      send();
      return told().map(({ level, msg }) => `${level}: ${msg}`);
    };
    const away = refused('14 UNAVAILABLE');
    assert.deepEqual(attempt(sent), []);
    assert.deepEqual(attempt(away), ['warn: spans cannot be sent']);
    assert.deepEqual(attempt(away), []);
    clock.advance(limits.traceLossReportMs - 1);
    assert.deepEqual(attempt(away), []);
    clock.advance(1);
    assert.deepEqual(attempt(away), ['warn: spans cannot be sent']);
    assert.deepEqual(attempt(sent), ['info: the collector of traces takes spans again']);
    assert.deepEqual(attempt(sent), []);
  });

  it('cannot make the log grow by what it says', () => {
    const { end, send, state, told } = fixture();
    state.answer = refused('x'.repeat(1_000_000));
    end(1);
    send();
    assert.equal(told()[0].problem.length, limits.traceTextCharactersMax);
  });
});
