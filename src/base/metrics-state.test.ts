import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Metrics } from './metrics.ts';
import { countedByBoth, type MetricsState } from './metrics-state.ts';
import { ManualClock } from './time/clock.ts';

/** The metrics of one of several servers. */
function server(clock = new ManualClock()) {
  const metrics = new Metrics();
  const definition = (name: string) => ({ name, help: 'A metric.', labels: [] });
  return {
    metrics,
    requests: metrics.counter({ ...definition('requests_total'), labels: ['verb'] }),
    seconds: metrics.histogram({ ...definition('seconds'), buckets: [1] }),
    open: metrics.gauge(definition('open')),
    cpu: metrics.counter({ ...definition('cpu_seconds_total'), common: true }),
    healthy: metrics.latest(definition('healthy'), clock),
  };
}

/** The samples that one of the servers shows. */
const shown = (metrics: Metrics, states: readonly MetricsState[]): readonly string[] =>
  [...metrics.pieces(states)]
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .sort();

it('servers show what they count together', () => {
  const [one, other] = [server(), server()];
  one.requests.add({ verb: 'get' }, 2);
  other.requests.add({ verb: 'get' }, 3);
  other.requests.add({ verb: 'list' });
  one.seconds.observe({}, 0.5);
  other.seconds.observe({}, 2);
  one.open.set({}, 4);
  other.open.set({}, 1);
  one.cpu.add({}, 10);
  other.cpu.add({}, 11);
  for (const { metrics } of [one, other]) {
    assert.deepEqual(shown(metrics, [one.metrics.state(), other.metrics.state()]), [
      'cpu_seconds_total 11',
      'open 5',
      'requests_total{verb="get"} 5',
      'requests_total{verb="list"} 1',
      'seconds_bucket{le="+Inf"} 2',
      'seconds_bucket{le="1"} 1',
      'seconds_count 2',
      'seconds_sum 2.5',
    ]);
  }
});

it('the result that is shown is the latest, whichever server had it', () => {
  const clock = new ManualClock();
  const [one, other] = [server(clock), server(clock)];
  for (const [value, { healthy }] of [
    [1, one],
    [0, other],
    [1, other],
    [0, one],
  ] as const) {
    clock.advance(1);
    healthy.set({}, value);
    assert.deepEqual(shown(one.metrics, [one.metrics.state(), other.metrics.state()]), [`healthy ${value}`]);
  }
});

it('of servers that have gone only what they alone had counted is left', () => {
  const [first, second, alive] = [server(), server(), server()];
  first.metrics.count({ name: 'led_total', help: 'What not every server counts.' }).inc();
  alive.metrics.count({ name: 'led_total', help: 'What not every server counts.' });
  for (const { requests, seconds, open, cpu, healthy } of [first, second]) {
    requests.add({ verb: 'get' }, 100);
    seconds.observe({}, 0.5);
    open.set({}, 7);
    cpu.add({}, 20);
    healthy.set({}, 1);
  }
  alive.requests.add({ verb: 'get' });
  alive.cpu.add({}, 16);
  const gone = countedByBoth(countedByBoth(undefined, first.metrics.state()), second.metrics.state());
  assert.deepEqual(shown(alive.metrics, [alive.metrics.state(), gone]), [
    'cpu_seconds_total 16',
    'led_total 1',
    'requests_total{verb="get"} 201',
    'seconds_bucket{le="+Inf"} 2',
    'seconds_bucket{le="1"} 2',
    'seconds_count 2',
    'seconds_sum 1',
  ]);
});
