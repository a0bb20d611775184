import { createRequire } from 'node:module';
import type { Alias, CST, Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { limits } from '../base/limits.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { joinPath } from '../schema/field-path.ts';
import { isRecord, setOwn } from '../schema/own-property.ts';
import { type ParsedJson, parseJson } from './json.ts';
import { positionIn } from './text-position.ts';
import { decodeUtf8 } from './utf8.ts';
import { resolvePlain } from './yaml-scalar.ts';

export { formatYaml } from './yaml-writer.ts';

/** Loaded on the first document: many servers never read YAML, and loading would add to the startup time. */
const loadYaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml');

/**
 * Parses one YAML document into a JSON value. `resolvePlain` resolves plain scalars; map keys are always their text.
 * Aliases are copied, so no two parts of the value are the same object; their number and total size are limited
 * (CVE-2019-11253), as are tokens and nesting. Throws BadRequest with the position of the error.
 */
export function parseYaml(bytes: Uint8Array): ParsedJson {
  if (bytes[0] === openBrace) {
    const parsed = tryJson(bytes);
    if (parsed) return parsed;
  }
  const text = decodeUtf8(bytes, 'YAML');
  const document = compose(text);
  return new ValueBuilder(text).build(document.contents);
}

const openBrace = 123;

/** Fast path: most YAML bodies are JSON. */
function tryJson(bytes: Uint8Array): ParsedJson | undefined {
  try {
    return parseJson(bytes);
  } catch {
    // Not JSON, or over a limit: the YAML parser reports the error.
    return undefined;
  }
}

/** Keeps scalars as text. */
const failsafe = { schema: 'failsafe', resolveKnownTags: false } as const;

function compose(text: string): Document.Parsed {
  const { Composer } = loadYaml();
  const composer = new Composer({ ...failsafe, uniqueKeys: false, logLevel: 'silent' });
  // Stops at the second document, which is already an error.
  const [document, second] = Iterator.from(composer.compose(tokensOf(text), true, text.length)).take(2);
  if (!document) throw yamlError(text, 0, 'expected a document');
  const [error] = document.errors;
  if (error) throw yamlError(text, error.pos[0], error.message);
  if (second) throw yamlError(text, second.range[0], 'expected a single document');
  return document;
}

/** The tokens of a text. Throws BadRequest if it exceeds a limit. */
function* tokensOf(text: string): Generator<CST.Token, void> {
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser();
  let count = 0;
  let directives = 0;
  let before = '';
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > limits.yamlTokensMax) throw yamlError(text, parser.offset, 'the document has too many parts');
    if (lexeme.startsWith('"') && before !== unquotedMark) checkEscapes(text, lexeme, parser.offset);
    for (const token of parser.next(lexeme)) {
      if (token.type === 'directive' && ++directives > limits.yamlDirectivesMax) {
        throw yamlError(text, token.offset, `expected no more than ${limits.yamlDirectivesMax} directives`);
      }
      yield token;
    }
    before = lexeme;
    if (parser.stack.length > stackMax) throw tooDeep(text, parser.offset);
  }
  yield* parser.end();
}

/** The lexer emits this before the text of a plain or block scalar, which has no escapes. */
const unquotedMark = '\x1f';

/**
 * A valid escape of a double-quoted scalar (YAML 1.2.2 section 5.7), of both halves of a surrogate pair, or a lone
 * backslash, which is invalid. Half a pair is no character.
 */
const escapes =
  /\\(?:[0abtnvfre "/\\N_LP\t\r\n]|x[\da-fA-F]{2}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4}|U00(?!00[dD][89a-fA-F])(?:0[\da-fA-F]|10)[\da-fA-F]{4})|\\/g;

/** Throws at the first invalid escape. The parser would build an error for each, at some microseconds apiece. */
function checkEscapes(text: string, scalar: string, offset: number): void {
  for (const { 0: found, index } of scalar.matchAll(escapes)) {
    if (found === '\\') throw yamlError(text, offset + index, 'expected an escape sequence that YAML has');
  }
}

/** The parser's stack holds the levels of nesting, the document and the current token. */
const stackMax = limits.depthMax + 4;

/** Errors of the parser, and those about tags and aliases, quote the document. */
const yamlError = (text: string, at: number, what: string): StatusError => {
  const shown =
    what.length > limits.yamlErrorCharactersMax ? `${what.slice(0, limits.yamlErrorCharactersMax)}...` : what;
  return badRequest(`error decoding YAML: ${positionIn(text, at)}: ${shown.toWellFormed()}`);
};

const tooDeep = (text: string, at: number): StatusError =>
  yamlError(text, at, `expected no more than ${limits.depthMax} levels of nesting`);

const coreTag = 'tag:yaml.org,2002:';

/** Builds the value of a document. Depth is counted as in JSON: the outermost collection is 1. */
class ValueBuilder {
  readonly #yaml = loadYaml();
  readonly #text: string;
  readonly #anchors = new Map<string, Node>();
  readonly #duplicates = new Set<string>();
  #aliases = 0;
  #aliasedBytes = 0;

  constructor(text: string) {
    this.#text = text;
  }

  build(contents: Node | null): ParsedJson {
    const value = this.#value(contents, '', 0);
    return { value, duplicates: [...this.#duplicates] };
  }

  #value(node: unknown, path: string, depth: number): unknown {
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml;
    if (isAlias(node)) return this.#alias(node, path, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node);
    if (depth >= limits.depthMax) throw tooDeep(this.#text, startOf(node));
    if (isMap(node)) return this.#map(node, path, depth + 1);
    return this.#list(node, path, depth + 1);
  }

  /** A copy of the node of the latest preceding anchor of that name. */
  #alias(alias: Alias, path: string, depth: number): unknown {
    const target = this.#anchors.get(alias.source);
    if (!target) throw this.#error(alias, `expected an anchor before the alias *${alias.source}`);
    this.#aliasedBytes += (target.range?.[1] ?? 0) - startOf(target);
    if (++this.#aliases > limits.yamlAliasesMax || this.#aliasedBytes > limits.bodyBytesMax) {
      throw this.#error(alias, 'the document repeats too much by aliases');
    }
    return this.#value(target, path, depth);
  }

  #scalar(scalar: Scalar): unknown {
    const text = String(scalar.value);
    if (scalar.tag === undefined) return scalar.type === 'PLAIN' ? this.#finite(scalar, resolvePlain(text)) : text;
    if (scalar.tag === `${coreTag}str` || scalar.tag === '!') return text;
    const value = this.#finite(scalar, resolvePlain(text));
    if (scalar.tag !== `${coreTag}${coreTypeOf(value)}`)
      throw this.#error(scalar, `unexpected tag or value of ${scalar.tag}`);
    return value;
  }

  #finite<T>(scalar: Scalar, value: T): T {
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    throw this.#error(scalar, 'expected a number in the range of a 64-bit float');
  }

  #list(list: YAMLSeq, path: string, depth: number): unknown[] {
    this.#expectTag(list, 'seq');
    return list.items.map((item, index) => this.#value(item, `${path}[${index}]`, depth));
  }

  #map(map: YAMLMap, path: string, depth: number): Record<string, unknown> {
    this.#expectTag(map, 'map');
    const value: Record<string, unknown> = {};
    const merges: Pair[] = [];
    for (const pair of map.items) {
      if (this.#isMerge(pair)) {
        merges.push(pair);
        continue;
      }
      const key = this.#key(map, pair);
      const keyPath = joinPath(path, key);
      if (Object.hasOwn(value, key) && this.#duplicates.size < limits.findingsMax) this.#duplicates.add(keyPath);
      setOwn(value, key, this.#value(pair.value, keyPath, depth));
    }
    for (const merge of merges) this.#merge(map, value, this.#value(merge.value, path, depth));
    return value;
  }

  #isMerge({ key }: Pair): boolean {
    return this.#yaml.isScalar(key) && key.type === 'PLAIN' && key.tag === undefined && key.value === '<<';
  }

  /** Merges sources of `<<`. Own fields of the map and earlier sources take precedence (yaml.org/type/merge.html). */
  #merge(map: YAMLMap, value: Record<string, unknown>, sources: unknown): void {
    for (const source of Array.isArray(sources) ? sources : [sources]) {
      if (!isRecord(source)) throw this.#error(map, 'expected "<<" to stand for a map or a list of maps');
      for (const key of Object.keys(source)) if (!Object.hasOwn(value, key)) setOwn(value, key, source[key]);
    }
  }

  #key(map: YAMLMap, { key }: Pair): string {
    if (!this.#yaml.isScalar(key)) throw this.#error(map, 'expected keys that are strings');
    if (key.anchor !== undefined) this.#anchors.set(key.anchor, key);
    const text = String(key.value);
    if (key.type === 'PLAIN' && resolvePlain(text) === null) throw this.#error(key, 'expected a key that is a string');
    return text;
  }

  #expectTag(node: YAMLMap | YAMLSeq, type: 'map' | 'seq'): void {
    if (node.tag !== undefined && node.tag !== `${coreTag}${type}`)
      throw this.#error(node, `unexpected tag ${node.tag}`);
  }

  #error(node: Node, what: string): StatusError {
    return yamlError(this.#text, startOf(node), what);
  }
}

const startOf = (node: Node): number => node.range?.[0] ?? 0;

/** The suffix of the core tag of a value that is not a string. */
function coreTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int' : 'float';
}
