/** Codes of the digits 0 to 9 (RFC 7541 appendix B): 0 to 2 have 5 bits, the others 6. */
const shortDigits = 3;

/**
 * The status of a response, read from the start of its header block (RFC 7541), where RFC 9113 section 8.3 wants it.
 * 0 where it is not there. Expects that the client allows no dynamic table.
 */
export function statusOf(headerBlock: Buffer): number {
  let at = 0;
  // Dynamic table size updates (section 6.3), each of one byte as the size is 0.
  while (((headerBlock[at] ?? 0) & 0xe0) === 0x20) at++;
  const first = headerBlock[at] ?? 0;
  if (first >= 0x88 && first <= 0x8e) return staticStatus[first - 0x88] ?? 0;
  // A literal value with an indexed name (section 6.2): `:status` stands in the table as 8 to 14.
  const index = first & 0x40 ? first & 0x3f : first & 0x0f;
  if (first & 0x80 || index < 8 || index > 14) return 0;
  const length = headerBlock[at + 1] ?? 0;
  const value = headerBlock.subarray(at + 2, at + 2 + (length & 0x7f));
  return length & 0x80 ? huffmanDigits(value) : Number(value.toString('latin1'));
}

/** Appendix A, from 8 on. */
const staticStatus = [200, 204, 206, 304, 400, 404, 500];

function huffmanDigits(value: Buffer): number {
  let bits = 0;
  for (const byte of value) bits = (bits << 8) | byte;
  let left = value.length * 8;
  let number = 0;
  for (let digits = 0; digits < 3; digits++) {
    const short = (bits >>> (left - 5)) & 0x1f;
    const digit = short < shortDigits ? short : ((bits >>> (left - 6)) & 0x3f) - 22;
    left -= short < shortDigits ? 5 : 6;
    number = number * 10 + digit;
  }
  return number;
}
