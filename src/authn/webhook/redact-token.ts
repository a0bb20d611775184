/** Shorter matches occur by chance. */
const stretchMin = 8;

/** Redacts the token, and every fragment of it long enough to be significant, from external text. */
export function redactToken(text: string, token: string): string {
  let clean = '';
  for (let at = 0; at < text.length; ) {
    const length = stretchAt(text, at, token);
    clean += length === 0 ? text[at] : '[token]';
    at += length || 1;
  }
  return clean;
}

/** Length of the token fragment that starts there; 0 if it is too short. */
function stretchAt(text: string, at: number, token: string): number {
  const isOfToken = (length: number): boolean =>
    at + length <= text.length && token.includes(text.slice(at, at + length));
  let length = Math.min(stretchMin, token.length);
  if (length === 0 || !isOfToken(length)) return 0;
  while (isOfToken(length + 1)) length += 1;
  return length;
}
