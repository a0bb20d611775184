import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawPlot, plotsOf } from './plot.ts';
import type { Plot, Row } from './report.ts';

const plot: Plot = { name: 'costs', title: 'Costs < 1', xAxis: 'objects', yAxis: 'µs' };

const row = (series: string, x: number, median: number): Row => ({
  what: `${series} with ${x}`,
  unit: 'µs',
  measured: { min: median, median, max: median },
  point: { plot, series, x },
});

describe('plots of a report', () => {
  const rows: readonly Row[] = [
    row('GET', 1_000, 10),
    row('GET', 1_000_000, 20),
    { what: 'other', unit: 'ms', measured: { min: 1, median: 1, max: 1 } },
    row('update', 1_000, 200),
  ];

  test('points are gathered by plot and series, with their medians', () => {
    assert.deepEqual(
      [...plotsOf(rows)],
      [
        [
          plot,
          [
            {
              name: 'GET',
              points: [
                { x: 1_000, y: 10 },
                { x: 1_000_000, y: 20 },
              ],
            },
            { name: 'update', points: [{ x: 1_000, y: 200 }] },
          ],
        ],
      ],
    );
  });

  test('a point is drawn where its values stand on the logarithmic axes', () => {
    const [[, series] = [plot, []]] = plotsOf(rows);
    const picture = drawPlot(plot, series);
    const circles = [...picture.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [
      Number(x),
      Number(y),
    ]);
    // Axes: 10^3 to 10^6 from x = 70 to 570, 10 to 10^3 from y = 312 up to 44.
    assert.deepEqual(circles, [
      [70, 312],
      [570, 271.7],
      [70, 137.7],
    ]);
    assert.match(picture, />Costs &lt; 1</);
  });

  test('a series of one value has axes all the same', () => {
    const picture = drawPlot(plot, [{ name: 'one', points: [{ x: 1, y: 1 }] }]);
    assert.doesNotMatch(picture, /NaN|Infinity/);
  });
});
