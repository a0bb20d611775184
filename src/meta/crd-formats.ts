import { isIPv4 } from 'node:net';
import { isIpv6 } from '../base/ip-version.ts';
import { canonicalTime } from './time.ts';

/**
 * String formats that Kubernetes 1.32 supports in schemas of custom resources, by name without dashes. Other formats are
 * ignored.
 */
const always = (): boolean => true;
const matches = (pattern: RegExp) => (value: string) => pattern.test(value);

const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');

/**
 * Letters and symbols of any script, ASCII digits, dashes inside labels; at most 63 bytes per label, 255 in total. As in
 * kube-apiserver, the last of several labels has only letters, two or more, and one that is alone has no dash but as its second
 * character.
 */
function isHostname(value: string): boolean {
  if (Buffer.byteLength(value) > 255) return false;
  const labels = value.split('.');
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return false;
  const last = labels.pop() ?? '';
  if (labels.length === 0) return /^[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]*$/u.test(last);
  return (
    /^[a-zA-Z\p{L}]{2,}$/u.test(last) &&
    labels.every((label) => /^[a-zA-Z0-9\p{S}\p{L}-]+$/u.test(label) && !label.startsWith('-') && !label.endsWith('-'))
  );
}

/** An IPv4 address, in IPv6 form too; numbers may have leading zeros. */
function isIPv4Like(value: string): boolean {
  if (!value.includes('.')) return false;
  const plain = value.replaceAll(/(?<![0-9a-fA-F])0+(?=\d)/g, '');
  return isIPv4(plain) || (isIpv6(plain) && !plain.includes('%'));
}

function isCidr(value: string): boolean {
  const [address = '', length = '', ...more] = value.split('/');
  if (more.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return false;
  if (isIPv4(address)) return Number(length) <= 32;
  return isIpv6(address) && !address.includes('%') && Number(length) <= 128;
}

/** An absolute URI, or an absolute path. */
function isRequestUri(value: string): boolean {
  if (/[\s\p{Cc}]/u.test(value)) return false;
  return value.startsWith('/') || (/^[a-z][a-z0-9+.-]*:/i.test(value) && URL.canParse(value));
}

/** One mailbox, with or without a display name: `a@example.com`, `A <a@example.com>`. Quoted local parts are not parsed. */
function isEmail(value: string): boolean {
  if (value.length > 998) return false;
  const bracketed = /^[^<>]*<([^<>]*)>$/.exec(value.trim());
  const address = bracketed ? (bracketed[1] ?? '') : value.trim();
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, Math.max(at, 0)), address.slice(at + 1)];
  if (at < 1 || domain === '' || /[\s@<>(),;:]/.test(domain)) return false;
  return /^"[^"\\]+"$/.test(local) || /^[^\s@<>(),;:"\\.[\]]+(?:\.[^\s@<>(),;:"\\.[\]]+)*$/.test(local);
}

const macForms =
  /^(?:(?:[0-9a-f]{2}:)+[0-9a-f]{2}|(?:[0-9a-f]{2}-)+[0-9a-f]{2}|(?:[0-9a-f]{4}\.)+[0-9a-f]{4}|[0-9a-f]+)$/i;
const macBytes = [6, 8, 20];

const isMac = (value: string): boolean =>
  value.length <= 64 && macForms.test(value) && macBytes.includes(value.replaceAll(/[^0-9a-f]/gi, '').length / 2);

/** Spaces and dashes are allowed anywhere. */
const withoutSeparators = (value: string): string => value.replaceAll(/[\s-]+/g, '');

function isIsbn10(value: string): boolean {
  const text = withoutSeparators(value);
  if (!/^\d{9}[\dX]$/.test(text)) return false;
  const sum = [...text].reduce((total, digit, index) => total + (index + 1) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(value: string): boolean {
  const text = withoutSeparators(value);
  if (!/^\d{13}$/.test(text)) return false;
  return [...text].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0;
}

const cardForms =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

/** Any separators, with a Luhn check digit. */
function isCreditCard(value: string): boolean {
  if (value.length > 64) return false;
  const digits = value.replaceAll(/\D+/g, '');
  if (!cardForms.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const doubled = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

const byteOfColor = '(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])';
const rgbColor = new RegExp(`^rgb\\(\\s*${byteOfColor}\\s*,\\s*${byteOfColor}\\s*,\\s*${byteOfColor}\\s*\\)$`);

const isBase64 = (value: string): boolean =>
  value.length % 4 === 0 && value !== '' && /^[A-Za-z0-9+/]*={0,2}$/.test(value);

function isDate(value: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

/** A Go duration (`1h30m`). */
const goDuration = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;

/** Units of durations; a word that begins with a long one will do. */
const durationUnit = /^(?:ns|us|\u00b5s|ms|s|m|h|hr|d|w|wk|(?:nano|micro|milli|sec|min|hour|day|week).*)$/;

const largestInteger = 2n ** 63n - 1n;

/** A Go duration, or a text with a number and a unit anywhere: `22 ns`, `every 3 days`. */
function isDuration(value: string): boolean {
  if (goDuration.test(value)) return true;
  const parts = [...value.matchAll(/(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-z\u00b5]+)/g)];
  if (parts.some(([, number = '']) => number.length > 19 && BigInt(number) > largestInteger)) return false;
  return parts.some(([, , unit = '']) => durationUnit.test(unit.toLowerCase()));
}

const lengthMax = 1_024;

/** Refuses longer texts unread: they mean nothing, and reading one of megabytes holds up everybody. */
const short =
  (check: (value: string) => boolean) =>
  (value: string): boolean =>
    value.length <= lengthMax && check(value);

export const crdFormats: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['bsonobjectid', matches(/^[0-9a-f]{24}$/i)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', short(isIPv4Like)],
  ['ipv6', (value: string) => isIpv6(value) && !value.includes('%')],
  ['cidr', short(isCidr)],
  ['mac', isMac],
  ['uuid', matches(uuid('[0-9a-f]', '[0-9a-f]'))],
  ['uuid3', matches(uuid('3', '[0-9a-f]'))],
  ['uuid4', matches(uuid('4', '[89ab]'))],
  ['uuid5', matches(uuid('5', '[89ab]'))],
  ['isbn', short((value) => isIsbn10(value) || isIsbn13(value))],
  ['isbn10', short(isIsbn10)],
  ['isbn13', short(isIsbn13)],
  ['creditcard', isCreditCard],
  ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', matches(rgbColor)],
  ['byte', isBase64],
  ['password', always],
  ['date', isDate],
  ['duration', short(isDuration)],
  ['datetime', (value: string) => canonicalTime(value.toUpperCase(), 'second') !== undefined],
]);

/** The check of a format; undefined if it is ignored. Dashes in its name are, as in Kubernetes: `date-time` is `datetime`. */
export const formatCheckOf = (format: string | undefined): ((value: string) => boolean) | undefined =>
  format === undefined ? undefined : crdFormats.get(format.replaceAll('-', ''));
