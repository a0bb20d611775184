import { ipVersion, isIpv6 } from '../base/ip-version.ts';
import { strictAddress } from './strict-ip.ts';

/**
 * Checks of string formats. Each returns its error messages, without field and value; an empty list means valid. The
 * messages are those of Kubernetes 1.32, because tools match on them.
 */
export type FormatCheck = (value: string) => readonly string[];

const passed: readonly string[] = [];

const dnsLabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dnsSubdomainPattern = `${dnsLabelPattern}(\\.${dnsLabelPattern})*`;
const dns1035LabelPattern = '[a-z]([-a-z0-9]*[a-z0-9])?';
const namePattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValuePattern = `(${namePattern})?`;
const dataKeyPattern = '[-._a-zA-Z0-9]+';

/*
 * The patterns above appear in messages only: their nested repetition takes quadratic time in a backtracking engine. The
 * ones below accept the same values in linear time.
 */
const dnsLabelChars = /^[a-z0-9](?:[-a-z0-9]*)$/;
const dns1035LabelChars = /^[a-z](?:[-a-z0-9]*)$/;
const nameChars = /^[A-Za-z0-9][-A-Za-z0-9_.]*$/;
const dataKeyChars = /^[-._a-zA-Z0-9]+$/;

const endsAlphanumeric = (value: string): boolean => /[A-Za-z0-9]$/.test(value);
const dnsLabelMatches = (value: string): boolean => dnsLabelChars.test(value) && !value.endsWith('-');
const dnsSubdomainMatches = (value: string): boolean => value.split('.').every(dnsLabelMatches);
const nameMatches = (value: string): boolean => nameChars.test(value) && endsAlphanumeric(value);

const lengthOf = (value: string): number => Buffer.byteLength(value);
const tooLong = (lengthMax: number): string => `must be no more than ${lengthMax} characters`;
const mismatch = (rule: string, pattern: string, ...examples: string[]): string =>
  `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`;

/** Joins the messages of several checks; `undefined` means valid. */
const failures = (...texts: (string | undefined)[]): readonly string[] => {
  const failed = texts.filter((text) => text !== undefined);
  return failed.length === 0 ? passed : failed;
};

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** RFC 1123 subdomain: labels joined by dots, at most 253 bytes. */
export const isDnsSubdomain: FormatCheck = (value) =>
  failures(
    lengthOf(value) > 253 ? tooLong(253) : undefined,
    dnsSubdomainMatches(value) ? undefined : mismatch(subdomainRule, dnsSubdomainPattern, 'example.com'),
  );

/** `*.` and a DNS subdomain (RFC 1034 section 4.3.3). */
export const isWildcardDnsSubdomain: FormatCheck = (value) =>
  failures(
    lengthOf(value) > 253 ? tooLong(253) : undefined,
    value.startsWith('*.') && dnsSubdomainMatches(value.slice(2))
      ? undefined
      : mismatch(
          "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
          `\\*\\.${dnsSubdomainPattern}`,
          '*.example.com',
        ),
  );

/** RFC 1123 label, at most 63 bytes. */
export const isDnsLabel: FormatCheck = (value) =>
  failures(lengthOf(value) > 63 ? tooLong(63) : undefined, describeDnsLabel(value));

function describeDnsLabel(value: string): string | undefined {
  if (dnsLabelMatches(value)) return undefined;
  if (dnsSubdomainMatches(value)) return 'must not contain dots';
  return mismatch(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    dnsLabelPattern,
    'my-name',
    '123-abc',
  );
}

/**
 * A name to be checked in the place of one to which a suffix will be appended. As in kube-apiserver, a dash at the end is
 * replaced together with what stands before it.
 */
export const maskedPrefix = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;

/** RFC 1035 label: an RFC 1123 label that starts with a letter. */
export const isDns1035Label: FormatCheck = (value) =>
  failures(
    lengthOf(value) > 63 ? tooLong(63) : undefined,
    dns1035LabelChars.test(value) && !value.endsWith('-')
      ? undefined
      : mismatch(
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          dns1035LabelPattern,
          'my-name',
          'abc-123',
        ),
  );

const nameMismatch = mismatch(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  namePattern,
  'MyName',
  'my.name',
  '123-abc',
);

/** A label or annotation key: an optional DNS subdomain prefix and '/', then a name of at most 63 bytes. */
export const isQualifiedName: FormatCheck = (value) => {
  const parts = value.split('/', 3);
  if (parts.length > 2) {
    return [
      `a qualified name ${nameMismatch} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? '';
  return failures(...(parts.length === 2 ? prefixFailures(parts[0] ?? '') : passed), ...nameFailures(name));
};

const prefixFailures = (prefix: string): readonly string[] =>
  (prefix === '' ? ['must be non-empty'] : isDnsSubdomain(prefix)).map((text) => `prefix part ${text}`);

function nameFailures(name: string): readonly string[] {
  const length = name === '' ? 'must be non-empty' : lengthOf(name) > 63 ? tooLong(63) : undefined;
  return failures(length, nameMatches(name) ? undefined : nameMismatch).map((text) => `name part ${text}`);
}

/** A label value: empty, or a name of at most 63 bytes. */
export const isLabelValue: FormatCheck = (value) =>
  failures(
    lengthOf(value) > 63 ? tooLong(63) : undefined,
    value === '' || nameMatches(value)
      ? undefined
      : mismatch(
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          labelValuePattern,
          'MyValue',
          'my_value',
          '12345',
        ),
  );

/** A name that is valid as one segment of a URL path. */
export const isPathSegment: FormatCheck = (value) => {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return failures(
    value.includes('/') ? "may not contain '/'" : undefined,
    value.includes('%') ? "may not contain '%'" : undefined,
    // No path has it, so that the object could not be found.
    value.includes('\0') ? "may not contain '\\0'" : undefined,
  );
};

/** A data key of a ConfigMap or Secret: a file name that cannot escape its directory. */
export const isDataKey: FormatCheck = (value) =>
  failures(
    lengthOf(value) > 253 ? tooLong(253) : undefined,
    dataKeyChars.test(value)
      ? undefined
      : mismatch(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          dataKeyPattern,
          'key.name',
          'KEY_NAME',
          'key-name',
        ),
    leavesDirectory(value),
  );

function leavesDirectory(value: string): string | undefined {
  if (value === '.') return "must not be '.'";
  if (value === '..') return "must not be '..'";
  return value.startsWith('..') ? "must not start with '..'" : undefined;
}

/** An IPv4 address, with leading zeros allowed as in Kubernetes 1.32, or an IPv6 address without a zone. */
export const isIpAddress: FormatCheck = (value) =>
  addressFamily(value) === 0 ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : passed;

/** An IP address in its canonical form (RFC 5952), as the names of addresses are. */
const isCanonicalIp: FormatCheck = (value) => {
  const parsed = strictAddress(value);
  if ('problem' in parsed) return [parsed.problem];
  return parsed.canonical === value ? passed : ['must be a canonical format IP address'];
};

/** An IP address and a prefix length. */
export const isCidr: FormatCheck = (value) => {
  const slash = value.indexOf('/');
  const family = addressFamily(value.slice(0, Math.max(slash, 0)));
  const length = value.slice(slash + 1);
  const lengthMax = family === 4 ? 32 : 128;
  return family !== 0 && /^\d{1,3}$/.test(length) && Number(length) <= lengthMax
    ? passed
    : ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
};

function addressFamily(value: string): 0 | 4 | 6 {
  if (value.includes(':')) return isIpv6(value) && !value.includes('%') ? 6 : 0;
  return value.length <= 64 && ipVersion(value.replace(/(^|\.)0+(?=\d)/g, '$1')) === 4 ? 4 : 0;
}

const uuidChars = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** RFC 9562 text form of any version, in any case. */
export const isUuid: FormatCheck = (value) =>
  uuidChars.test(value) ? passed : ["must be a valid UUID (e.g. 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6')"];

/** By name in schemas. */
export const formatChecks = {
  canonicalIp: isCanonicalIp,
  dnsLabel: isDnsLabel,
  dnsSubdomain: isDnsSubdomain,
  dns1035Label: isDns1035Label,
  qualifiedName: isQualifiedName,
  labelValue: isLabelValue,
  pathSegment: isPathSegment,
  ip: isIpAddress,
  cidr: isCidr,
  uuid: isUuid,
} as const satisfies Readonly<Record<string, FormatCheck>>;

export type StringFormat = keyof typeof formatChecks;
