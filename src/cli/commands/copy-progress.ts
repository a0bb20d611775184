import type { CopyProgress } from '../../store/drivers/sqlite/copy-data-file.ts';
import type { Terminal } from './command.ts';

/** Shows the progress of a copy on one line that is redrawn; shows nothing without a terminal. */
export function showProgress(terminal: Terminal): CopyProgress {
  if (!terminal.interactive) return () => {};
  let shown = '';
  return ({ phase, done, total }) => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const text = phase === 'copy' ? `copying ${percent}%` : 'checking the copy';
    if (text !== shown) terminal.err(`\r${text.padEnd(shown.length)}`);
    if (phase === 'check') terminal.err(`\r${' '.repeat(text.length)}\r`);
    shown = text;
  };
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a size as `512 bytes` or `1.5 MiB`. */
export function describeBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
