import type { Plot, Row } from './report.ts';

/** In pixels of the picture. */
const [width, height] = [720, 360];
const edge = { left: 70, right: 150, top: 44, bottom: 48 };
const colours = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#8c564b'];

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

/** The plots that the rows have points of, in their order. */
export function plotsOf(rows: readonly Row[]): ReadonlyMap<Plot, readonly Series[]> {
  const plots = new Map<Plot, Map<string, Point[]>>();
  for (const { point, measured } of rows) {
    if (!point) continue;
    const series = plots.get(point.plot) ?? new Map<string, Point[]>();
    plots.set(point.plot, series);
    const points = series.get(point.series) ?? [];
    series.set(point.series, points);
    points.push({ x: point.x, y: measured.median });
  }
  return new Map(
    [...plots].map(([plot, series]) => [plot, [...series].map(([name, points]) => ({ name, points }))] as const),
  );
}

/** A picture (SVG 1.1) of series over logarithmic axes. Readable on light and on dark pages. */
export function drawPlot({ title, xAxis, yAxis }: Plot, series: readonly Series[]): string {
  const points = series.flatMap((each) => each.points);
  const xs = decades(points.map(({ x }) => x));
  const ys = decades(points.map(({ y }) => y));
  const place = ({ x, y }: Point): readonly [number, number] => [
    edge.left + share(x, xs) * (width - edge.left - edge.right),
    height - edge.bottom - share(y, ys) * (height - edge.top - edge.bottom),
  ];
  const [left, right] = [edge.left, width - edge.right];
  const [top, bottom] = [edge.top, height - edge.bottom];
  const lines = [
    ...xs.map((x) => {
      const [at] = place({ x, y: ys[0] ?? 1 });
      return `${line(at, top, at, bottom)}${text(at, bottom + 18, shown(x), 'middle')}`;
    }),
    ...ys.map((y) => {
      const [, at] = place({ x: xs[0] ?? 1, y });
      return `${line(left, at, right, at)}${text(left - 8, at + 4, shown(y), 'end')}`;
    }),
  ];
  const drawn = series.map(({ name, points: own }, index) => {
    const colour = colours[index % colours.length] ?? '#888';
    const places = own.map(place);
    const path = places.map(([x, y]) => `${round(x)},${round(y)}`).join(' ');
    const dots = places
      .map(([x, y]) => `<circle cx="${round(x)}" cy="${round(y)}" r="3.5" fill="${colour}"/>`)
      .join('');
    const legendY = top + 8 + index * 20;
    const legend = `<rect x="${right + 14}" y="${legendY - 9}" width="10" height="10" fill="${colour}"/>${text(right + 30, legendY, name, 'start')}`;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots}${legend}`;
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="22" font-size="14" fill="#222">${escaped(title)}</text>`,
    ...lines,
    text((left + right) / 2, height - 10, xAxis, 'middle'),
    text(left - 8, top - 8, yAxis, 'end'),
    ...drawn,
    '</svg>',
  ].join('\n')}\n`;
}

/** Powers of ten from below the smallest to above the largest. */
function decades(values: readonly number[]): readonly number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

const share = (value: number, axis: readonly number[]): number => {
  const [from, to] = [Math.log10(axis[0] ?? 1), Math.log10(axis.at(-1) ?? 10)];
  return (Math.log10(value) - from) / (to - from);
};

const line = (x1: number, y1: number, x2: number, y2: number): string =>
  `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="#ddd"/>`;

const text = (x: number, y: number, value: string, anchor: 'start' | 'middle' | 'end'): string =>
  `<text x="${round(x)}" y="${round(y)}" fill="#444" text-anchor="${anchor}">${escaped(value)}</text>`;

const round = (value: number): string => String(Math.round(value * 10) / 10);
const shown = (value: number): string =>
  value >= 1 ? value.toLocaleString('en-US') : String(Number(value.toPrecision(1)));
const escaped = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
