/**
 * Makes the table by which a bundle's log names the sources: source maps are as large as the bundle, and only lines that
 * write to the log are asked for.
 */
import { basename } from 'node:path';

interface Output {
  readonly path: string;
  readonly text: string;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** Calls by which lines of the log are written, as the bundler prints them. */
const logCall = /\.(?=(?:error|warn|info|debug)\()/g;

/** `file.ts:123` by file of the bundle and line in it. `outputs` are its files and, beside each, its source map. */
export function logPlaces(outputs: readonly Output[]): Record<string, Record<number, string>> {
  const maps = new Map(outputs.map(({ path, text }) => [path, text]));
  const places: Record<string, Record<number, string>> = {};
  for (const { path, text } of outputs) {
    const map = maps.get(`${path}.map`);
    const found = map === undefined ? {} : placesIn(text, JSON.parse(map));
    if (Object.keys(found).length > 0) places[basename(path)] = found;
  }
  return places;
}

function placesIn(text: string, { sources, mappings }: SourceMap): Record<number, string> {
  const found: Record<number, string> = {};
  const segments = decode(mappings);
  for (const [at, line] of text.split('\n').entries()) {
    const call = logCall.exec(line);
    logCall.lastIndex = 0;
    if (!call) continue;
    const segment = segments[at]?.findLast(({ column }) => column <= call.index + 1);
    const source = sources[segment?.source ?? -1];
    if (!segment || source === undefined || source.includes('node_modules')) continue;
    found[at + 1] = `${basename(source)}:${segment.line + 1}`;
  }
  return found;
}

/** The beginning of a piece of a generated line, and what it was made of. All count from 0. */
interface Segment {
  readonly column: number;
  readonly source: number;
  readonly line: number;
}

/** Segments of each generated line (ECMA-426, "mappings"). */
function decode(mappings: string): readonly (readonly Segment[])[] {
  let [source, line] = [0, 0];
  return mappings.split(';').map((group) => {
    let column = 0;
    return group.split(',').flatMap((text): Segment[] => {
      const [columns = 0, sources, lines] = decodeNumbers(text);
      column += columns;
      if (sources === undefined || lines === undefined) return [];
      source += sources;
      line += lines;
      return [{ column, source, line }];
    });
  });
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Base64 VLQ: five bits of a digit, of which the lowest of a number is its sign; the sixth says that there is more. */
function decodeNumbers(text: string): readonly number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of text) {
    const bits = digits.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
