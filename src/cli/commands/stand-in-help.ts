import type { Command } from './command.ts';
import { describeFlags } from './help.ts';

/**
 * The help of a program that stands in for a published one: every flag that it takes begins a line, since environment
 * libraries look there for what a release knows.
 */
export function standInHelp(program: string, { description, flags, published }: Command): string {
  const without = published.ignored.flatMap(({ because, flags: forms }) =>
    Object.entries(forms).map(([name, form]) => [name, { ...form, because }] as const),
  );
  const rows = without
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { isSwitch, placeholder, because }]) => {
      return `  --${name}${isSwitch ? '[=false]' : `=${placeholder}`}\n      without effect: ${because}\n`;
    });
  return `Usage: ${program} [flags]\n\n${description}\n\nFlags:\n${describeFlags(flags)}\nFlags without effect:\n${rows.join('')}`;
}
