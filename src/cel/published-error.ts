import { limits } from '../base/limits.ts';
import type { CelCompileError, CelProblem } from './error.ts';

/** All errors of a source, each with its line and a mark below it, as kube-apiserver shows them. */
export function publishedError(error: CelCompileError, source: string): string {
  const problems = [error, ...error.others.shown];
  const lines = new Lines(source);
  const texts: string[] = [];
  let room: number = limits.celErrorTextMax;
  for (const problem of problems) {
    if (room <= 0) break;
    const text = withLine(problem, lines);
    room -= text.length;
    texts.push(text);
  }
  const left = problems.length - texts.length + error.others.left;
  return [...texts, ...(left > 0 ? [`${left} more errors were truncated`] : [])].join('\n');
}

function withLine({ reason, position: { line, column } = { line: 1, column: 1 } }: CelProblem, lines: Lines): string {
  const { text, isShown, pointsBefore } = lines.at(line, column);
  const head = `ERROR: <input>:${line}:${pointsBefore + 1}: ${asPublished(reason)}`;
  if (!isShown) return head;
  const before = [...text.slice(0, column - 1)];
  const at = text.codePointAt(column - 1) ?? 0;
  return `${head}\n | ${text}\n | ${before.map((each) => (isWide(each.codePointAt(0) ?? 0) ? wideDot : '.')).join('')}${isWide(at) ? wideMark : '^'}`;
}

/** Reads the lines of a source. Many errors are in one long line, one after the other: it is read once. */
class Lines {
  readonly #texts: readonly string[];
  #line = 0;
  #text = '';
  #isShown = false;
  #column = 1;
  #points = 0;

  constructor(source: string) {
    this.#texts = source.split('\n');
  }

  /** A line, whether it is short enough to be shown, and the number of code points before a column of it. */
  at(line: number, column: number) {
    if (line !== this.#line) {
      this.#text = (this.#texts[line - 1] ?? '').replaceAll('\t', ' ');
      this.#isShown = Buffer.byteLength(this.#text) <= limits.celErrorLineBytesMax;
    }
    if (line !== this.#line || column < this.#column) [this.#column, this.#points] = [1, 0];
    this.#line = line;
    for (const _ of this.#text.slice(this.#column - 1, column - 1)) this.#points++;
    this.#column = column;
    return { text: this.#text, isShown: this.#isShown, pointsBefore: this.#points };
  }
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
