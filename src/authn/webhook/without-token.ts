/** Shorter stretches of tokens stand in texts by chance. */
const stretchMin = 8;

/** A text of somebody else without the token, nor any stretch of it that is long enough to tell something. */
export function withoutToken(text: string, token: string): string {
  let clean = '';
  for (let at = 0; at < text.length; ) {
    const length = stretchAt(text, at, token);
    clean += length === 0 ? text[at] : '[token]';
    at += length || 1;
  }
  return clean;
}

/** How many characters from there on stand in the token too; 0 where they are few. */
function stretchAt(text: string, at: number, token: string): number {
  const isOfToken = (length: number): boolean =>
    at + length <= text.length && token.includes(text.slice(at, at + length));
  let length = Math.min(stretchMin, token.length);
  if (length === 0 || !isOfToken(length)) return 0;
  while (isOfToken(length + 1)) length += 1;
  return length;
}
