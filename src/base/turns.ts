/** Those who wait, in the order in which they came. */
const waiting: (() => void)[] = [];

/**
 * Calls back in a turn of the event loop that nobody else has who asks here. Long work of many goes on one after the other,
 * with connections looked at in between: slices that all ran in one turn would add up to a long one.
 */
export function inOwnTurn(work: () => void): void {
  waiting.push(work);
  if (waiting.length === 1) setImmediate(runFirst);
}

function runFirst(): void {
  const work = waiting.shift();
  if (waiting.length > 0) setImmediate(runFirst);
  work?.();
}
