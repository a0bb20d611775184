import type { Stats } from './stats.ts';

/** One line of the report. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly measured: Stats;
  /** In the same unit, of the same run. */
  readonly ceiling?: Stats;
  /** Measured to ceiling. */
  readonly ratio?: Stats;
  /** Measured to something else of the same run. */
  readonly beside?: Beside;
  readonly reach?: Reach;
  /** What else was seen: percentiles, CPU. */
  readonly notes?: readonly string[];
  /** Where its median stands in a plot. */
  readonly point?: PlotPoint;
}

interface PlotPoint {
  /** The same for all of its points. */
  readonly plot: Plot;
  readonly series: string;
  readonly x: number;
}

/** Of costs by sizes, both axes logarithmic. */
export interface Plot {
  /** Of the file. */
  readonly name: string;
  readonly title: string;
  readonly xAxis: string;
  readonly yAxis: string;
}

interface Beside {
  readonly ratio: Stats;
  /** `the row above`. */
  readonly of: string;
}

/** What design section 8 wants. Compared with the median. */
interface Reach {
  readonly of: 'measured' | 'ratio' | 'beside';
  readonly atLeast?: number;
  readonly atMost?: number;
}

const columns = ['what', 'measured (min / median / max)', 'ceiling', 'ratio', 'reach', 'met?'] as const;

/** True where a row is short of what it should reach; undefined where nothing was said. */
export function isMet({ measured, ratio, beside, reach }: Row): boolean | undefined {
  if (!reach) return undefined;
  const value = { measured, ratio, beside: beside?.ratio }[reach.of]?.median;
  if (value === undefined) return undefined;
  return value >= (reach.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (reach.atMost ?? Number.POSITIVE_INFINITY);
}

/** For a terminal. */
export function textTable(rows: readonly Row[]): string {
  const lines = [columns, ...rows.map(cells)];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const [head, ...body] = lines.map(format);
  const withNotes = body.flatMap((line, index) => [line, ...notesOf(rows[index]).map((note) => `    ${note}`)]);
  return `${[head, ...withNotes].join('\n')}\n`;
}

/** For a document. */
export function markdownTable(rows: readonly Row[]): string {
  const line = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;
  const withNotes = rows.map((row) => {
    const [what = '', ...rest] = cells(row);
    return line([[what, ...notesOf(row).map((note) => `<sub>${note}</sub>`)].join('<br>'), ...rest]);
  });
  return `${[line(columns), line(columns.map(() => '---')), ...withNotes].join('\n')}\n`;
}

function notesOf(row: Row | undefined): readonly string[] {
  const { beside, notes = [] } = row ?? {};
  if (!beside) return notes;
  const { ratio, of } = beside;
  return [`${percent(ratio.min)} / ${percent(ratio.median)} / ${percent(ratio.max)} of ${of}`, ...notes];
}

function cells(row: Row): readonly string[] {
  const { what, unit, measured, ceiling, ratio } = row;
  const met = isMet(row);
  return [
    what,
    `${shortNumber(measured.min)} / ${shortNumber(measured.median)} / ${shortNumber(measured.max)} ${unit}`,
    ceiling ? `${shortNumber(ceiling.median)} ${unit}` : '',
    ratio ? percent(ratio.median) : '',
    reachText(row),
    met === undefined ? '' : met ? 'yes' : 'no',
  ];
}

function reachText({ unit, beside, reach }: Row): string {
  if (!reach) return '';
  const units = {
    measured: (number: number): string => `${shortNumber(number)} ${unit}`,
    ratio: percent,
    beside: (ratio: number): string => `${percent(ratio)} of ${beside?.of}`,
  };
  const value = units[reach.of];
  if (reach.atLeast !== undefined) return `≥ ${value(reach.atLeast)}`;
  return reach.atMost !== undefined ? `≤ ${value(reach.atMost)}` : '';
}

const percent = (ratio: number): string => `${Math.round(ratio * 100)}%`;

/** Three digits that count; whole numbers with separators. */
export function shortNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
