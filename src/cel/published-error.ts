import { limits } from '../base/limits.ts';
import type { CelCompileError, CelProblem } from './error.ts';

/** All errors of a source, each with its line and a mark below it, as kube-apiserver shows them. */
export function publishedError(error: CelCompileError, source: string): string {
  const problems = [error, ...error.others.shown];
  const texts: string[] = [];
  let room = limits.celErrorTextMax;
  for (const problem of problems) {
    if (room <= 0) break;
    const text = withLine(problem, source);
    room -= text.length;
    texts.push(text);
  }
  const left = problems.length - texts.length + error.others.left;
  return [...texts, ...(left > 0 ? [`${left} more errors were truncated`] : [])].join('\n');
}

function withLine({ reason, position = { line: 1, column: 1 } }: CelProblem, source: string): string {
  const text = (source.split('\n')[position.line - 1] ?? '').replaceAll('\t', ' ');
  const before = [...text.slice(0, position.column - 1)];
  const head = `ERROR: <input>:${position.line}:${before.length + 1}: ${asPublished(reason)}`;
  if (Buffer.byteLength(text) > limits.celErrorLineBytesMax) return head;
  const at = text.codePointAt(position.column - 1) ?? 0;
  return `${head}\n | ${text}\n | ${before.map((each) => (isWide(each.codePointAt(0) ?? 0) ? wideDot : '.')).join('')}${isWide(at) ? wideMark : '^'}`;
}

/** Characters that take more than one byte have wide marks. */
const isWide = (codePoint: number): boolean => codePoint >= 0x80;
const wideDot = '\uff0e';
const wideMark = '\uff3e';

function asPublished(reason: string): string {
  if (reason.startsWith('undeclared reference')) return `${reason} (in container '')`;
  // A template that ends too early is no error of the expression's syntax.
  return /^unexpected (?!end of string$)/.test(reason) ? `Syntax error: ${reason}` : reason;
}
