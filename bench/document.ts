import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable, type Row } from './report.ts';

const file = 'docs/BENCHMARKS.md';
const begin = '<!-- bench: begin -->';
const end = '<!-- bench: end -->';

/** Puts the table into the document, in place of the one that stands between its marks. */
export function writeTable(root: string, rows: readonly Row[], machine: string): void {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: the marks ${begin} and ${end} are missing`);
  const table = `${begin}\n\n${machine}\n\n${markdownTable(rows)}\n`;
  writeFileSync(path, text.slice(0, from) + table + text.slice(to));
}
