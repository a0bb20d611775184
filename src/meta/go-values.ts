import { exponentText } from '../base/exponent-text.ts';
import { parseQuantity } from './quantity.ts';

/**
 * Values as Go prints them, which is how kube-apiserver shows values in errors that are neither numbers nor texts. Parts of
 * objects are printed by their schema (`schema/go-text.ts`).
 */

/** A list of strings; an empty one is nil. `item` is the Go type of the strings. */
export const goTexts = (values: readonly string[], item = 'string'): string =>
  values.length === 0 ? `[]${item}(nil)` : `[]${item}{${values.map((each) => JSON.stringify(each)).join(', ')}}`;

/** A map of strings, in order of keys. */
export const goTextMap = (values: Readonly<Record<string, string>> | undefined): string =>
  values ? `map[string]string{${entriesAsGo(values)}}` : 'map[string]string(nil)';

const entriesAsGo = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join(', ');

/** A value of a custom resource. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return '"null"';
  return partAsGo(value);
}

function partAsGo(value: unknown): string {
  if (value === null) return 'interface {}(nil)';
  if (typeof value === 'number') return goNumber(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(partAsGo).join(', ')}}`;
  if (typeof value !== 'object') return String(value);
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `map[string]interface {}{${fields.map(([name, part]) => `${JSON.stringify(name)}:${partAsGo(part)}`).join(', ')}}`;
}

/** An integer has no exponent; a double has one from a million on, and below 0.0001. */
function goNumber(value: number): string {
  const size = Math.abs(value);
  return Number.isSafeInteger(value) || (size >= 1e-4 && size < 1e6) ? String(value) : exponentText(value);
}

/** A time that is the value itself; within a struct it has another form. */
export const goTime = (time: string): string => `${time.slice(0, 10)} ${time.slice(11, 19)} +0000 UTC`;

const decimalScales: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaryFactors: Readonly<Record<string, bigint>> = Object.fromEntries(
  ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, 1n << BigInt(10 * (index + 1))]),
);

/** A quantity in canonical form, as it is when it has been read from that form. */
export function goQuantity(text: string): string {
  const family = parseQuantity(text)?.family ?? 'decimal';
  const [, digits = '0', suffix = ''] = /^(-?\d+)(.*)$/.exec(text) ?? [];
  const value = BigInt(digits) * (binaryFactors[suffix] ?? 1n);
  const scale = decimalScales[suffix] ?? (/^e/.test(suffix) ? Number(suffix.slice(1)) : 0);
  const format = { decimal: 'DecimalSI', binary: 'BinarySI', exponent: 'DecimalExponent' }[family];
  // Go keeps the text only where it can tell at once that it is canonical.
  const isKept = family === 'binary' ? (BigInt(digits) & 7n) !== 0n : !digits.endsWith('000');
  return `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:${JSON.stringify(isKept ? text : '')}, Format:"${format}"}`;
}
