import { isRecord } from '../schema/own-property.ts';
import { resolvePlain } from './yaml-scalar.ts';

/**
 * YAML text of a JSON value, which any YAML 1.1 or 1.2 parser reads back as the same value: ambiguous scalars are quoted.
 * Lists are indented like their field; fields are in object order. Not written with the yaml library, which takes half a
 * millisecond per object: too slow for lists of thousands. `indent` prefixes every line but the first.
 */
export function formatYaml(value: unknown, indent = ''): string {
  return writeNode(value, indent);
}

/** The lines of a value; the first one without indentation, which the caller has written. */
function writeNode(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `- ${writeNode(item, `${indent}  `)}`).join(indent);
  }
  if (isRecord(value)) {
    const fields = fieldsOf(value);
    if (fields.length > 0) return fields.map((key) => writeField(key, value[key], indent)).join(indent);
  }
  return `${writeScalar(value, indent)}\n`;
}

/** Omits undefined fields, like `JSON.stringify`. */
const fieldsOf = (record: Record<string, unknown>): string[] =>
  Object.keys(record).filter((key) => record[key] !== undefined);

/** YAML limits implicit keys to 1024 characters; a parser need not find the colon beyond that. */
const implicitKeyLengthMax = 1000;

function writeField(key: string, value: unknown, indent: string): string {
  const name = writeString(key);
  const start = name.length > implicitKeyLengthMax ? `? ${name}\n${indent}:` : `${name}:`;
  if (Array.isArray(value) && value.length > 0) return `${start}\n${indent}${writeNode(value, indent)}`;
  if (isRecord(value) && fieldsOf(value).length > 0) {
    const inner = `${indent}  `;
    return `${start}\n${inner}${writeNode(value, inner)}`;
  }
  return `${start} ${writeScalar(value, indent)}\n`;
}

/** Writes a scalar or an empty collection. */
function writeScalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return isLiteral(value) ? writeLiteral(value, `${indent}  `) : writeString(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return '[]';
  if (isRecord(value)) return '{}';
  return JSON.stringify(value ?? null);
}

/**
 * Text that needs no quotes: starts with a letter and has no indicator characters, or is digits with a unit: `100m`, `2Gi`.
 * Excludes `e1`, which some parsers read as a number.
 */
const plainChars = /^(?![eE]\d+$)(?:[A-Za-z_/](?:[\w./@+=-]|[:,](?=[\w/])| (?=[\w/]))*|\d+(?:\.\d+)?[A-Za-z]+)$/;
/** Characters that JSON does not escape and YAML treats as line breaks or rejects. */
const escapedChars = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function writeString(text: string): string {
  if (plainChars.test(text) && resolvePlain(text) === text) return text;
  // A JSON string of whole characters is a double-quoted YAML scalar.
  return JSON.stringify(text.toWellFormed()).replace(
    escapedChars,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const printable = /^[\t\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** True for multi-line text that a literal block preserves: no line of only blanks, and no blank at the start. */
const isLiteral = (text: string): boolean =>
  text.includes('\n') && printable.test(text) && !/^[ \t\n]/.test(text) && !/^[ \t]+$/m.test(text);

function writeLiteral(text: string, indent: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  const trailing = text.length - end;
  const mark = trailing === 0 ? '|-' : trailing === 1 ? '|' : '|+';
  const lines = text
    .slice(0, end)
    .split('\n')
    .map((line) => (line === '' ? '' : indent + line));
  return `${mark}\n${lines.join('\n')}${'\n'.repeat(Math.max(trailing - 1, 0))}`;
}
