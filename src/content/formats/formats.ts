import { cbor } from './cbor.ts';
import type { Format } from './format.ts';
import { json } from './json.ts';
import { protobuf } from './protobuf.ts';
import { yaml } from './yaml.ts';

/** All formats in order of preference. To add one, put a file beside these and its name here. */
const formats: readonly Format[] = [json, yaml, protobuf, cbor];

/** The formats that clients can use while these features are enabled. */
export const enabledFormats = (features: ReadonlySet<string>): readonly Format[] =>
  formats.filter(({ gate }) => gate === undefined || features.has(gate));

const byName = new Map(formats.map((format) => [format.name, format]));

export function formatNamed(name: string): Format {
  const format = byName.get(name);
  if (!format) throw new TypeError(`no format is called ${name}`);
  return format;
}
