/** How often something is done in a second, one after the other, while nothing else happens. */
export function rateOf(durationMs: number, work: () => boolean): number {
  const startedAt = performance.now();
  let done = 0;
  while (performance.now() - startedAt < durationMs) {
    if (!work()) throw new Error('the bare work did not succeed');
    done += 1;
  }
  return (done / (performance.now() - startedAt)) * 1000;
}
