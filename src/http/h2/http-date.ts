let second = Number.NaN;
let text = '';

/** The time of a response (RFC 9110 section 5.6.7), in milliseconds since the Unix epoch; made once a second. */
export function httpDate(nowMs: number): string {
  const its = Math.floor(nowMs / 1_000);
  if (its !== second) {
    second = its;
    text = new Date(nowMs).toUTCString();
  }
  return text;
}
