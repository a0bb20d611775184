import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawPlot, plotsOf } from './plot.ts';
import { markdownTable, type Row } from './report.ts';

const directory = 'docs';
const file = 'BENCHMARKS.md';
const plotsDirectory = 'plots';
const begin = '<!-- bench: begin -->';
const end = '<!-- bench: end -->';

/** Puts the table and its plots into the document, in place of what stands between its marks. */
export function writeTable(root: string, rows: readonly Row[], machine: string): void {
  const path = join(root, directory, file);
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: the marks ${begin} and ${end} are missing`);
  const plots = writePlots(join(root, directory, plotsDirectory), rows);
  const table = `${begin}\n\n${machine}\n\n${markdownTable(rows)}\n${plots}`;
  writeFileSync(path, text.slice(0, from) + table + text.slice(to));
}

/** Returns them as they are shown in the document. */
function writePlots(to: string, rows: readonly Row[]): string {
  mkdirSync(to, { recursive: true });
  return [...plotsOf(rows)]
    .map(([plot, series]) => {
      writeFileSync(join(to, `${plot.name}.svg`), drawPlot(plot, series));
      return `![${plot.title}](${plotsDirectory}/${plot.name}.svg)\n\n`;
    })
    .join('');
}
