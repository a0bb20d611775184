/** One entry of an `Accept` header (RFC 9110 section 12.5.1). */
export interface MediaRange {
  /** In lower case; `*` for any. */
  readonly type: string;
  readonly subtype: string;
  /** Without `q`; names in lower case, values as sent. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 means not acceptable. */
  readonly quality: number;
}

/**
 * Parses a list of media ranges, best first: by quality, then without wildcards before with, then in the given order.
 * Invalid media ranges are ignored, as in kube-apiserver.
 */
export function parseAccept(header: string): readonly MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const part of splitOutsideQuotes(header, ',')) {
    const range = parseMediaRange(part);
    if (range) ranges.push(range);
  }
  return ranges.sort((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

const wildcards = ({ type, subtype }: MediaRange): number => (type === '*' ? 2 : subtype === '*' ? 1 : 0);

/** RFC 9110 section 5.6.2, and `@`, which clients send in the old media type of OpenAPI in protobuf. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z@]+$/;

/** A media type or range with its parameters; undefined if the text is neither. */
function parseMediaRange(text: string): MediaRange | undefined {
  const [name = '', ...rest] = splitOutsideQuotes(text, ';');
  const [type = '', subtype = '', ...more] = name.trim().toLowerCase().split('/');
  if (!token.test(type) || !token.test(subtype) || more.length > 0 || (type === '*' && subtype !== '*'))
    return undefined;
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const equals = parameter.indexOf('=');
    if (equals > 0)
      parameters.set(parameter.slice(0, equals).trim().toLowerCase(), unquote(parameter.slice(equals + 1).trim()));
  }
  const quality = parseQuality(parameters.get('q'));
  parameters.delete('q');
  return { type, subtype, parameters, quality };
}

/**
 * A media type without its parameters, which must be well-formed and differ in name (RFC 9110 section 8.3.1); undefined for
 * ranges and everything else. A semicolon may end it.
 */
export function parseMediaType(text: string): string | undefined {
  const [name = '', ...parameters] = splitOutsideQuotes(text, ';').map((part) => part.trim());
  const names = new Set<string>();
  for (const [at, parameter] of parameters.entries()) {
    if (parameter === '' && at === parameters.length - 1) break;
    const equals = parameter.indexOf('=');
    const [key, value] = [parameter.slice(0, equals).toLowerCase(), parameter.slice(equals + 1)];
    if (equals <= 0 || !token.test(key) || !(token.test(value) || quotedString.test(value)) || names.has(key))
      return undefined;
    names.add(key);
  }
  const range = parseMediaRange(name);
  return range && range.subtype !== '*' ? `${range.type}/${range.subtype}` : undefined;
}

/** RFC 9110 section 5.6.4. */
const quotedString = /^"(?:[^"\\]|\\.)*"$/;

/** A weight from 0 to 1 (RFC 9110 section 12.4.2); 1 if missing or invalid. */
export function parseQuality(text: string | undefined): number {
  return text !== undefined && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 1;
}

const unquote = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted && character === '\\') at += 1;
    else if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
