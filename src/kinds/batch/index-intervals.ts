/** Sets of indexes of a job as text: `1,3-5,7`. */

export interface Interval {
  readonly first: number;
  readonly last: number;
}

interface Read {
  /** Number of indexes; those before a problem. */
  readonly total: number;
  /** What is wrong, in the words of kube-apiserver. */
  readonly problem?: string;
}

/** Reads a set in which every index is below `completions`, in increasing order. */
export function readIndexes(text: string, completions: number): Read {
  let [total, previous] = [0, -1];
  if (text === '') return { total };
  for (const part of text.split(',')) {
    const read = readInterval(part, completions);
    if (typeof read === 'string') return { total, problem: read };
    if (previous >= read.first) return { total, problem: `non-increasing order, previous: ${previous}, current: ${read.first}` };
    total += read.last - read.first + 1;
    previous = read.last;
  }
  return { total };
}

/** The first index that two sets share. Parts that cannot be read are left out. */
export function firstShared(one: string, other: string, completions: number): number | undefined {
  const [left, right] = [intervalsOf(one, completions), intervalsOf(other, completions)];
  let [at, beside] = [0, 0];
  while (at < left.length && beside < right.length) {
    const [a, b] = [left[at], right[beside]];
    if (!a || !b) return undefined;
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    if (a.first <= b.first) at++;
    else beside++;
  }
  return undefined;
}

/** Those in increasing order. Parts that cannot be read are left out. */
export const intervalsOf = (text: string, completions: number): readonly Interval[] =>
  text === ''
    ? []
    : text
        .split(',')
        .map((part) => readInterval(part, completions))
        .filter((read) => typeof read !== 'string');

/** An interval, or what is wrong with it. */
function readInterval(text: string, completions: number): Interval | string {
  const limits = text.split('-');
  if (limits.length > 2) return `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const [first, last = first] = limits.map((limit) => readIndex(limit, completions));
  if (first === undefined || typeof first === 'string') return first ?? '';
  if (last === undefined || typeof last === 'string') return last ?? '';
  return limits.length === 2 && first >= last ? `non-increasing order, previous: ${first}, current: ${last}` : { first, last };
}

function readIndex(text: string, completions: number): number | string {
  if (!/^[+-]?\d{1,18}$/.test(text)) return `cannot convert string to integer for index: ${JSON.stringify(text)}`;
  return Number(text) >= completions ? `too large index: ${JSON.stringify(text)}` : Number(text);
}
