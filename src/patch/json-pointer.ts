/** JSON Pointer (RFC 6901). */
export interface JsonPointer {
  /** As the client sent it. */
  readonly text: string;
  /** Unescaped reference tokens; empty for the whole document. */
  readonly tokens: readonly string[];
}

/** Parses a pointer of at most `tokensMax` tokens, or returns what is wrong with it. */
export function parsePointer(text: string, tokensMax: number): JsonPointer | { readonly problem: string } {
  if (text === '') return { text, tokens: [] };
  if (!text.startsWith('/')) return { problem: 'must be empty or begin with "/"' };
  if (/~(?![01])/.test(text)) return { problem: '"~" must be followed by 0 or 1' };
  const tokens = text.split('/', tokensMax + 2).slice(1);
  if (tokens.length > tokensMax) return { problem: `must not have more than ${tokensMax} steps` };
  return { text, tokens: text.includes('~') ? tokens.map(unescapeToken) : tokens };
}

/** RFC 6901 section 4: `~1` first, so that `~01` becomes `~1` and not `/`. */
const unescapeToken = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * The array index of a token: digits without leading zeros (RFC 6901 section 4). Undefined for anything else, including
 * `-` and negative numbers.
 */
export const arrayIndex = (token: string): number | undefined =>
  /^(?:0|[1-9]\d{0,14})$/.test(token) ? Number(token) : undefined;

/** True if `outer` is a proper prefix of `inner`. */
export const leadsInto = (outer: JsonPointer, inner: JsonPointer): boolean =>
  outer.tokens.length < inner.tokens.length && outer.tokens.every((token, step) => inner.tokens[step] === token);
