let second = Number.NaN;
let text = '';

/** The Date header (RFC 9110 section 5.6.7) for milliseconds since the Unix epoch; formatted once per second. */
export function httpDate(nowMs: number): string {
  const its = Math.floor(nowMs / 1_000);
  if (its !== second) {
    second = its;
    text = new Date(nowMs).toUTCString();
  }
  return text;
}
