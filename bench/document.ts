import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawPlot, plotsOf } from './plot.ts';
import { markdownTable, type Row } from './report.ts';

const directory = 'docs';
const file = 'BENCHMARKS.md';
const plotsDirectory = 'plots';
const begin = '<!-- bench: begin -->';
const end = '<!-- bench: end -->';
const heading = '### ';

interface Results {
  /** Of the scenario. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly machine: string;
}

/** Puts the table of a scenario and its plots into the document; those of others stay. `order`: the names of all scenarios. */
export function writeResults(root: string, order: readonly string[], { name, rows, machine }: Results): void {
  const path = join(root, directory, file);
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: the marks ${begin} and ${end} are missing`);
  const plots = writePlots(join(root, directory, plotsDirectory), rows);
  const sections = sectionsOf(text.slice(from + begin.length, to));
  sections.set(name, `${heading}${name}\n\n${machine}\n\n${markdownTable(rows)}\n${plots}`);
  const known = order.flatMap((each) => sections.get(each) ?? []);
  writeFileSync(path, `${text.slice(0, from)}${begin}\n\n${known.join('')}${text.slice(to)}`);
}

/** What stands below each heading, with it. */
function sectionsOf(text: string): Map<string, string> {
  const sections = text.split(new RegExp(`^(?=${heading})`, 'm')).filter((section) => section.startsWith(heading));
  return new Map(sections.map((section) => [section.slice(heading.length, section.indexOf('\n')), section]));
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
