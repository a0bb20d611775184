import { expressionTypes } from '../../dialect/expression-types.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, listType, mapType, opaqueType, stringType } from '../type.ts';
import { type CelMap, CelOpaque, type CelValue, KeyedMap } from '../value.ts';

/** The parts of an absolute URI, or of an absolute path, as written in the source. */
class Url extends CelOpaque {
  readonly typeName = expressionTypes.url;
  readonly text: string;
  readonly scheme: string;
  /** Including the port, with brackets around an IPv6 address. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
  #escapedPath: string | undefined;
  #values: CelMap | undefined;

  constructor(text: string, [, scheme = '', authority = '', path = '', query = '']: readonly (string | undefined)[]) {
    super();
    this.text = text;
    this.scheme = scheme.toLowerCase();
    this.host = authority.slice(authority.lastIndexOf('@') + 1);
    this.path = path;
    this.query = query;
  }

  get escapedPath(): string {
    this.#escapedPath ??= escapePath(this.path);
    return this.#escapedPath;
  }

  /** The values of the query by key. */
  get values(): CelMap {
    this.#values ??= valuesOf(this.query);
    return this.#values;
  }
}

const shape = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/s;
const host = /^(?:[^@]*@)?(?:\[[0-9a-fA-F:.%]+\]|[^:[\]]*)(?::([0-9]*))?$/;

/** RFC 3986 section 3; undefined if the text is neither an absolute URI nor an absolute path. */
function parse(text: string): Url | undefined {
  const match = shape.exec(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no part of a URL may have them
  if (match === null || /[\x00-\x1f\x7f]/.test(text)) return undefined;
  const [, scheme, authority = '', path = ''] = match;
  if (scheme === undefined && !path.startsWith('/')) return undefined;
  if (!host.test(authority) || / /.test(authority) || !isEscaped(path) || !isEscaped(authority)) return undefined;
  return new Url(text, match);
}

/** Whether every percent sign begins an escape. */
const isEscaped = (text: string): boolean => !/%(?![0-9a-fA-F]{2})/.test(text);

function url(text: string): Url {
  const parsed = parse(text);
  if (parsed === undefined) throw new CelFault('URL parse error');
  return parsed;
}

const hostname = ({ host: text }: Url): string => text.replace(/:[0-9]*$/, '').replace(/^\[(.*)\]$/, '$1');
const port = ({ host: text }: Url): string => /:([0-9]*)$/.exec(text)?.[1] ?? '';
const escapePath = (path: string): string =>
  isPlain(path)
    ? path
    : path.replace(/%[0-9a-fA-F]{2}|[^%]+/g, (part) => (part.startsWith('%') ? part : encodePath(part)));
const isPlain = (path: string): boolean => /^[a-zA-Z0-9._~!$&'()*+,;=:@/%[\]-]*$/.test(path);
const encodePath = (text: string): string => encodeURI(text.toWellFormed()).replace(/[?#]/g, encodeURIComponent);

function valuesOf(text: string): CelMap {
  const values = new Map<string, CelValue[]>();
  for (const [key, value] of new URLSearchParams(text)) values.set(key, [...(values.get(key) ?? []), value]);
  const map = new KeyedMap();
  for (const [key, list] of values) map.add(key, list);
  return map;
}

const urlType = opaqueType(expressionTypes.url);
const traversal = (text: string): number => Math.ceil(text.length * costPerCharacter);

/** The URL extension of kube-apiserver. */
export const urls = [
  define('url', [stringType], urlType, url, traversal),
  define('isURL', [stringType], boolType, (text: string) => parse(text) !== undefined, traversal),
  defineMethod('getScheme', [urlType], stringType, ({ scheme }: Url) => scheme),
  defineMethod('getHost', [urlType], stringType, ({ host: text }: Url) => text),
  defineMethod('getHostname', [urlType], stringType, hostname),
  defineMethod('getPort', [urlType], stringType, port),
  defineMethod('getEscapedPath', [urlType], stringType, ({ escapedPath }: Url) => escapedPath),
  defineMethod('getQuery', [urlType], mapType(stringType, listType(stringType)), ({ values }: Url) => values),
];
