import type { CelCompileError } from './error.ts';

/** The error with the line of the source and a mark below it, as kube-apiserver shows it. */
export function publishedError({ reason, position = { line: 1, column: 1 } }: CelCompileError, source: string): string {
  const { line, column } = position;
  const text = source.split('\n')[line - 1] ?? '';
  return `ERROR: <input>:${line}:${column}: ${asPublished(reason)}\n | ${text}\n | ${'.'.repeat(column - 1)}^`;
}

function asPublished(reason: string): string {
  if (reason.startsWith('undeclared reference')) return `${reason} (in container '')`;
  return reason.startsWith('unexpected') ? `Syntax error: ${reason}` : reason;
}
