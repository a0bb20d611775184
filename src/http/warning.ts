/** Warnings that one response carries, and their length in all: what is beyond would break clients' header limits. */
const countMax = 100;
const bytesMax = 8 * 1024;

/**
 * `Warning` headers (RFC 7234 section 5.5): code 299, agent `-`, the text quoted. Control characters become blanks;
 * other characters go out as UTF-8, which is how clients of published servers read them.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  const headers: string[] = [];
  let bytes = 0;
  for (const text of new Set(texts)) {
    const header = `299 - ${quoted(text)}`;
    bytes += header.length;
    if (headers.length >= countMax || bytes > bytesMax) break;
    headers.push(header);
  }
  return headers;
}

function quoted(text: string): string {
  const clean = text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .replace(/["\\]/g, '\\$&');
  // Node writes header text as Latin-1: this way the bytes on the wire are the UTF-8 ones.
  return `"${Buffer.from(clean).toString('latin1')}"`;
}
