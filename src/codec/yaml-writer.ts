import { isRecord } from '../schema/own-property.ts';
import { resolvePlain } from './yaml-scalar.ts';

/**
 * YAML text of a JSON value, one that any YAML 1.1 or 1.2 reader reads back as the same value: what could be taken for
 * something else is quoted. Lists stand at the indentation of their field, fields in the order of the object. Written
 * here and not by the library because lists of thousands of objects pass through, and the library takes half a
 * millisecond for each. `indent` stands before every line but the first.
 */
export function formatYaml(value: unknown, indent = ''): string {
  return writeNode(value, indent);
}

/** The lines of a value; the first one without the indentation, which whoever calls has written. */
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

/** As `JSON.stringify`, leaves out what is undefined. */
const fieldsOf = (record: Record<string, unknown>): string[] =>
  Object.keys(record).filter((key) => record[key] !== undefined);

/** A reader need not see further than this for the colon of a key. */
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

/** Also of empty collections. */
function writeScalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return isLiteral(value) ? writeLiteral(value, `${indent}  `) : writeString(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return '[]';
  if (isRecord(value)) return '{}';
  return JSON.stringify(value ?? null);
}

/**
 * Begins with a letter and has no sign that means something, or is digits with a unit: `100m`, `2Gi`. Some readers take
 * `e1` for a number.
 */
const plainChars = /^(?![eE]\d+$)(?:[A-Za-z_/](?:[\w./@+=-]|[:,](?=[\w/])| (?=[\w/]))*|\d+(?:\.\d+)?[A-Za-z]+)$/;
/** Signs that JSON leaves as they are and YAML takes for line breaks or refuses. */
const escapedChars = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function writeString(text: string): string {
  if (plainChars.test(text) && resolvePlain(text) === text) return text;
  // A JSON string is a double-quoted YAML scalar.
  return JSON.stringify(text).replace(escapedChars, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const printable = /^[\t\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** Several lines that a block shows as they are: no line of only blanks, and no blank at the very start. */
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
