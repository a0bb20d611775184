/**
 * The value of a plain (unquoted, untagged) YAML scalar. Like kube-apiserver, it uses the core types of YAML 1.1, on which
 * existing manifests depend: `defaultMode: 0644` is octal, `yes` and `off` are booleans. Also like kube-apiserver, times
 * and base-60 numbers are strings.
 */
export function resolvePlain(text: string): string | number | bigint | boolean | null {
  const word = words.get(text);
  if (word !== undefined) return word;
  return startsNumber.test(text) ? (resolveNumber(text.replaceAll('_', '')) ?? text) : text;
}

const words = new Map<string, boolean | null | number>([
  ...spelled(['true', 'yes', 'on', 'y'], true),
  ...spelled(['false', 'no', 'off', 'n'], false),
  ...spelled(['null'], null),
  ['', null],
  ['~', null],
  ...spelled(['.nan'], Number.NaN),
  ...spelled(['.inf', '+.inf'], Number.POSITIVE_INFINITY),
  ...spelled(['-.inf'], Number.NEGATIVE_INFINITY),
  ['.NaN', Number.NaN],
]);

/** Each word in lower case, upper case and capitalized. */
function spelled<T>(all: readonly string[], value: T): [string, T][] {
  return all.flatMap((word) => {
    const capital = word.replace(/[a-z]/, (letter) => letter.toUpperCase());
    return [word, word.toUpperCase(), capital].map((spelling): [string, T] => [spelling, value]);
  });
}

const startsNumber = /^[-+]?\.?\d/;
const decimalInteger = /^[-+]?(?:0|[1-9]\d*)$/;
const radixInteger = /^([-+]?)0(?:([xXbBoO])([\da-fA-F]+)|([0-7]+))$/;
const float = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** Undefined if the text is not a number. */
function resolveNumber(text: string): number | bigint | undefined {
  if (decimalInteger.test(text)) return exact(text.replace(/^\+/, ''));
  const radix = radixInteger.exec(text);
  if (radix) {
    const [, sign, letter = 'o', digits = '', octal] = radix;
    const magnitude = exactOrUndefined(`0${letter.toLowerCase()}${octal ?? digits}`);
    if (magnitude !== undefined) return sign === '-' ? -magnitude : magnitude;
  }
  return float.test(text) ? Number(text) : undefined;
}

/** A number if it holds the integer exactly, else a bigint; Infinity beyond the range of a float. */
function exact(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number + 0 : Number.isFinite(number) ? BigInt(text) : number;
}

/** Like `exact`; undefined if a digit is invalid in its base. */
function exactOrUndefined(text: string): number | bigint | undefined {
  return Number.isNaN(Number(text)) ? undefined : exact(text);
}
