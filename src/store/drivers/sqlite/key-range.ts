import type { Revision } from '../../store.ts';

/** Keys that start with `prefix` and sort after `after`, as of revision `at`. */
export interface KeyRange {
  readonly prefix: string;
  readonly after: string | undefined;
  readonly at: Revision;
}

/** The keys of a range: from the first bound (inclusive) to the second (exclusive). */
export const boundsOf = ({ prefix, after }: KeyRange): readonly [Buffer, Buffer] => {
  const first = Buffer.from(prefix);
  // The smallest key after `after` is that key followed by a zero byte.
  const next = after === undefined ? first : Buffer.concat([Buffer.from(after), Buffer.of(0)]);
  return [Buffer.compare(next, first) > 0 ? next : first, endOfPrefix(first)];
};

/**
 * The smallest bytes that sort after every key of a prefix. UTF-8 has no byte 0xff, so the last byte can be
 * incremented.
 */
const endOfPrefix = (prefix: Buffer): Buffer => {
  const last = prefix.at(-1);
  return last === undefined ? Buffer.of(0xff) : Buffer.concat([prefix.subarray(0, -1), Buffer.of(last + 1)]);
};
