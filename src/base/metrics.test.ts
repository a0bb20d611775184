import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Metrics } from './metrics.ts';

it('renders counters and gauges in the text format', () => {
  const metrics = new Metrics();
  const requests = metrics.counter({ name: 'requests_total', help: 'Requests.', labels: ['verb', 'code'] });
  const open = metrics.gauge({ name: 'open_watches', help: 'Now.\nOpen.', labels: [], stability: 'STABLE' });
  requests.add({ verb: 'get', code: '200' });
  requests.add({ verb: 'get', code: '200' }, 2);
  requests.add({ verb: 'a"\\\n', code: '500' });
  metrics.onCollect(() => open.set({}, 5));
  assert.equal(
    metrics.render(),
    '# HELP open_watches [STABLE] Now.\\nOpen.\n# TYPE open_watches gauge\nopen_watches 5\n' +
      '# HELP requests_total [ALPHA] Requests.\n# TYPE requests_total counter\n' +
      'requests_total{verb="get",code="200"} 3\nrequests_total{verb="a\\"\\\\\\n",code="500"} 1\n',
  );
});

it('renders histograms with cumulative buckets', () => {
  const metrics = new Metrics();
  const seconds = metrics.histogram({
    name: 'wait_seconds',
    help: 'Waits.',
    labels: ['verb'],
    stability: 'BETA',
    buckets: [0.1, 1],
  });
  for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe({ verb: 'list' }, value);
  assert.equal(
    metrics.render(),
    '# HELP wait_seconds [BETA] Waits.\n# TYPE wait_seconds histogram\n' +
      'wait_seconds_bucket{verb="list",le="0.1"} 2\nwait_seconds_bucket{verb="list",le="1"} 3\n' +
      'wait_seconds_bucket{verb="list",le="+Inf"} 4\nwait_seconds_sum{verb="list"} 3.65\n' +
      'wait_seconds_count{verb="list"} 4\n',
  );
});

it('provides a series for frequent increments', () => {
  const metrics = new Metrics();
  const requests = metrics.counter({ name: 'a_total', help: 'A.', labels: ['verb'] });
  const open = metrics.gauge({ name: 'b', help: 'B.', labels: ['verb'] });
  const seconds = metrics.histogram({ name: 'c_seconds', help: 'C.', labels: [], buckets: [1] });
  const [gets, opened, all] = [requests.of({ verb: 'get' }), open.of({ verb: 'get' }), seconds.of({})];
  gets.add();
  requests.add({ verb: 'get' }, 2);
  gets.add(4);
  opened.set(5);
  opened.add(-2);
  all.observe(1);
  seconds.observe({}, 2);
  assert.deepEqual(
    metrics
      .render()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
    [
      'a_total{verb="get"} 7',
      'b{verb="get"} 3',
      'c_seconds_bucket{le="1"} 1',
      'c_seconds_bucket{le="+Inf"} 2',
      'c_seconds_sum 3',
      'c_seconds_count 2',
    ],
  );
  assert.equal([...metrics.pieces()].join(''), metrics.render());
});

it('a count without labels shows its zero', () => {
  const metrics = new Metrics();
  const count = metrics.count({ name: 'a_total', help: 'A.' });
  assert.match(metrics.render(), /^a_total 0$/m);
  count.inc();
  assert.match(metrics.render(), /^a_total 1$/m);
});

it('reads running totals on collection, and counts each increase once', () => {
  const metrics = new Metrics();
  const totals = new Map([['hit', 3]]);
  const seriesOf = () =>
    metrics
      .render()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
  // Two parts count into the same series.
  for (const part of [metrics.part(), metrics.part()]) {
    part.totals({ name: 'a_total', help: 'A.', labels: ['status'] }, () =>
      Iterator.from(totals).map(([status, total]) => [{ status }, total]),
    );
  }
  assert.deepEqual(seriesOf(), ['a_total{status="hit"} 6']);
  assert.deepEqual(seriesOf(), ['a_total{status="hit"} 6']);
  totals.set('hit', 4).set('miss', 0);
  assert.deepEqual(seriesOf(), ['a_total{status="hit"} 8', 'a_total{status="miss"} 0']);
});

it('keeps a bounded number of series', () => {
  const metrics = new Metrics();
  const requests = metrics.counter({ name: 'requests_total', help: 'Requests.', labels: ['path'] });
  for (let path = 0; path < 10_000; path++) requests.add({ path: String(path) });
  const lines = metrics.render().trimEnd().split('\n');
  assert.equal(lines.length, 2 + 2_001);
  assert.equal(lines.at(-1), 'requests_total{path="overflow"} 8000');
});

it('refuses a second metric of the same name', () => {
  const metrics = new Metrics();
  metrics.gauge({ name: 'x', help: '', labels: [] });
  assert.throws(() => metrics.counter({ name: 'x', help: '', labels: [] }), /defined twice/);
});

it('parts count into the same series; the collectors of a closed part no longer run', () => {
  const metrics = new Metrics();
  const define = (part: Metrics, labels: readonly string[] = []) =>
    part.counter({ name: 'requests_total', help: 'Requests.', labels });
  const [first, second] = [metrics.part(), metrics.part()];
  define(first).add({});
  second.onCollect(() => define(second).add({}, 10));
  assert.match(first.render(), /^requests_total 11$/m);
  second.close();
  assert.match(metrics.render(), /^requests_total 11$/m);
  assert.throws(() => define(first, ['verb']), /requests_total is defined in two ways/);
  assert.throws(() => first.gauge({ name: 'requests_total', help: '', labels: [] }), /in two ways/);
  assert.throws(() => define(metrics), /defined twice/);
});
