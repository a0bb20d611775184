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

it('writes numbers as Go does', () => {
  const metrics = new Metrics();
  const buckets = [1e-8, 9.999999999999999e-6, 0.0001, 604_800, 1e6, 15_552_000, 1e21];
  metrics.histogram({ name: 'd_bytes', help: 'D.', labels: [], buckets }).observe({}, 1_234_567);
  const lines = metrics.render();
  const bounds = [...lines.matchAll(/le="([^"]*)"/g)].map(([, bound]) => bound);
  const texts = ['1e-08', '9.999999999999999e-06', '0.0001', '604800', '1e+06', '1.5552e+07', '1e+21', '+Inf'];
  assert.deepEqual(bounds, texts);
  assert.match(lines, /^d_bytes_sum 1\.234567e\+06$/m);
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

it('values are read again by each refresh, once for those that wait at the same time', async () => {
  const metrics = new Metrics();
  const size = metrics.gauge({ name: 'size_bytes', help: 'Size.', labels: [] });
  let reads = 0;
  metrics.onRefresh(async () => size.set({}, ++reads));
  await Promise.all([metrics.refresh(), metrics.part().refresh()]);
  assert.match(metrics.render(), /^size_bytes 1$/m);
  await metrics.refresh();
  assert.match(metrics.render(), /^size_bytes 2$/m);
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

const shownOf = (metrics: Metrics): readonly string[] =>
  metrics
    .render()
    .split('\n')
    .filter((line) => /^[^#]/.test(line));

for (const [stability, deprecatedIn, release, isShown] of [
  ['ALPHA', '1.32', '1.32', true],
  ['ALPHA', '1.31', '1.32', false],
  ['BETA', '1.32', '1.32', true],
  ['BETA', '1.31', '1.32', false],
  ['STABLE', '1.30', '1.32', true],
  ['STABLE', '1.29', '1.32', false],
  ['STABLE', '1.33', '1.32', true],
  ['STABLE', undefined, '1.32', true],
] as const) {
  for (const showHidden of [false, true]) {
    it(`${stability}, deprecated in ${deprecatedIn}, in ${release}${showHidden ? ', hidden ones shown' : ''}`, () => {
      const metrics = new Metrics({ release, showHidden });
      const definition = { name: 'a_total', help: 'A.', labels: [] };
      const level = stability === 'ALPHA' ? {} : { stability };
      metrics.counter({ ...definition, ...level, ...(deprecatedIn && { deprecatedIn }) }).add({});
      metrics.countThemselves();
      const help = `# HELP a_total [${stability}] ${deprecatedIn ? `(Deprecated from ${deprecatedIn}) ` : ''}A.\n`;
      assert.equal(metrics.render().includes(help), isShown || showHidden);
      const shown = shownOf(metrics);
      assert.equal(shown.includes('a_total 1'), isShown || showHidden);
      assert.ok(shown.includes(`hidden_metrics_total ${isShown || showHidden ? 0 : 1}`));
      const registered = `registered_metrics_total{stability_level="${stability}",deprecated_version="${deprecatedIn}.0"} 1`;
      if (deprecatedIn) assert.equal(shown.includes(registered), isShown || showHidden);
    });
  }
}

it('disabled metrics are counted but not shown, hidden ones that are asked for included', () => {
  const metrics = new Metrics({
    release: '1.32',
    showHidden: true,
    disabled: new Set(['a_total', 'b_seconds', 'other']),
  });
  const a = metrics.counter({ name: 'a_total', help: 'A.', labels: [], deprecatedIn: '1.20' });
  const b = metrics.histogram({ name: 'b_seconds', help: 'B.', labels: ['x'], buckets: [1] });
  metrics.count({ name: 'c_total', help: 'C.' });
  metrics.countThemselves();
  a.add({});
  b.observe({ x: 'y' }, 1);
  assert.doesNotMatch(metrics.render(), /a_total|b_seconds/);
  assert.ok(shownOf(metrics).includes('c_total 0'));
  assert.ok(shownOf(metrics).includes('disabled_metrics_total 3'));
});

it('values that are not allowed are counted as unexpected, by whatever call and part', () => {
  const allowedValues = new Map([['a_total', new Map([['verb', new Set(['get', 'list'])]])]]);
  const metrics = new Metrics({ allowedValues });
  metrics.countThemselves();
  const define = (of: Metrics) => of.counter({ name: 'a_total', help: 'A.', labels: ['verb', 'code'] });
  const parts = [define(metrics.part()), define(metrics.part())];
  const other = metrics.counter({ name: 'b_total', help: 'B.', labels: ['verb'] });
  for (const part of parts) {
    part.add({ verb: 'get', code: '200' });
    part.add({ verb: 'watch', code: '200' });
    part.of({ verb: 'patch', code: '200' }).add(2);
  }
  other.add({ verb: 'watch' });
  const shown = shownOf(metrics);
  for (const line of [
    'a_total{verb="get",code="200"} 2',
    'a_total{verb="unexpected",code="200"} 6',
    'b_total{verb="watch"} 1',
    'cardinality_enforcement_unexpected_categorizations_total 4',
  ]) {
    assert.ok(shown.includes(line), `${line} is not in\n${shown.join('\n')}`);
  }
});
