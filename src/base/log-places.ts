import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Where a line of the log was written, as the runtime tells it. */
export interface CallPlace {
  readonly scriptName: string;
  readonly lineNumber: number;
}

/** `file.ts:123` of the sources, by file of the bundle and line in it. Only lines that write to the log. */
type SourcePlaces = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Written beside the bundle by `tools/build.ts`. */
const fileName = 'log-places.json';

let places: SourcePlaces | undefined;

/** The place in the sources as `file.ts:123`. Reads the table when the first line is logged; the sources have none. */
export function sourcePlace({ scriptName, lineNumber }: CallPlace): string {
  places ??= readPlaces();
  const file = basename(scriptName);
  return places[file]?.[lineNumber] ?? `${file}:${lineNumber}`;
}

function readPlaces(): SourcePlaces {
  try {
    return JSON.parse(readFileSync(join(import.meta.dirname, fileName), 'utf8'));
  } catch {
    return {}; // the place in the bundle is better than no line
  }
}
