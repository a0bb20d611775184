import { isAscii, isUtf8 } from 'node:buffer';
import { type DerValue, readAt } from './der.ts';

interface DerLimits {
  readonly valuesMax: number;
  readonly depthMax: number;
}

/** Universal types that contain values; all others are primitive (X.690 section 10.2). */
const constructedTypes: ReadonlySet<number> = new Set([0x10, 0x11]);
const printable = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

/** What the content of a universal type must look like. `*` and `&` in a PrintableString are tolerated, as by Go. */
const contentRules: ReadonlyMap<number, (content: Buffer) => boolean> = new Map([
  [0x01, (content) => content.length === 1 && (content[0] === 0 || content[0] === 0xff)],
  [0x02, isInteger],
  [0x03, isBitString],
  [0x05, (content) => content.length === 0],
  [0x06, isObjectIdentifier],
  [0x0c, isUtf8],
  [0x12, (content) => /^[0-9 ]*$/.test(content.toString('latin1'))],
  [0x13, (content) => printable.test(content.toString('latin1'))],
  [0x16, isAscii],
  [0x1a, isAscii],
  [0x1c, isBasicText],
  [0x1e, (content) => content.length % 2 === 0],
]);

/**
 * Throws a RangeError unless `bytes` is exactly one value in DER (X.690) within the limits, down to its last part. Parsers
 * differ in what else they accept, so that one value could mean different things to different readers.
 */
export function requireDer(bytes: Buffer, limits: DerLimits): void {
  const values = checkAll(bytes, { ...limits, left: limits.valuesMax }, 0);
  if (values !== 1) throw new RangeError(values === 0 ? 'no data' : 'trailing data');
}

interface Budget extends DerLimits {
  left: number;
}

/** Checks consecutive values and returns their number. */
function checkAll(bytes: Buffer, budget: Budget, depth: number): number {
  if (depth > budget.depthMax) throw new RangeError('values are nested too deeply');
  let values = 0;
  for (let at = 0; at < bytes.length; values++) {
    if (--budget.left < 0) throw new RangeError('too many values');
    const value = readAt(bytes, at);
    check(value, budget, depth);
    at += value.whole.length;
  }
  return values;
}

function check(value: DerValue, budget: Budget, depth: number): void {
  const { tag, content } = value;
  const [type, isUniversal, isConstructed] = [tag & 0x1f, tag < 0x40, (tag & 0x20) !== 0];
  if (type === 0x1f) throw new RangeError('a tag is too long');
  if (value.whole.length - content.length !== headerLength(content.length)) throw new RangeError('non-minimal length');
  if (isUniversal && isConstructed !== constructedTypes.has(type)) throw new RangeError('a value has the wrong form');
  if (isUniversal && contentRules.get(type)?.(content) === false) throw new RangeError('a value has bad content');
  if (isConstructed) checkAll(content, budget, depth + 1);
}

function headerLength(length: number): number {
  let bytes = 2;
  if (length >= 0x80) for (let rest = length; rest > 0; rest >>>= 8) bytes++;
  return bytes;
}

/** A UniversalString of the basic multilingual plane: parsers cut off the upper half of other characters. */
function isBasicText(content: Buffer): boolean {
  return content.length % 4 === 0 && content.every((byte, at) => byte === 0 || at % 4 >= 2);
}

/** The shortest encoding: the first nine bits are not all equal (X.690 section 8.3.2). */
function isInteger(content: Buffer): boolean {
  const [first = 0, second = 0] = content;
  if (content.length < 2) return content.length === 1;
  return !(first === 0 && second < 0x80) && !(first === 0xff && second >= 0x80);
}

/** Unused bits are zero, and there are none without data (X.690 section 11.2). */
function isBitString(content: Buffer): boolean {
  const [unused = 8] = content;
  const last = content.at(-1) ?? 0;
  return content.length === 1 ? unused === 0 : unused < 8 && (last & ((1 << unused) - 1)) === 0;
}

function isObjectIdentifier(content: Buffer): boolean {
  const last = content.at(-1);
  if (last === undefined || last >= 0x80) return false;
  // A part may not begin with a zero digit.
  return content.every((byte, at) => byte !== 0x80 || ((content[at - 1] ?? 0) & 0x80) !== 0);
}
