import { type FieldError, invalid } from '../../../../meta/field-error.ts';
import type { FormatCheck } from '../../../../meta/formats.ts';

/** The errors of a format check at a field. */
export const failing = (check: FormatCheck, field: string, value: string): FieldError[] =>
  check(value).map((detail) => invalid(field, value, detail));

/** The error for a reference to a name that does not exist. */
export const notFound = (field: string, value: string): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  value,
  detail: '',
});

/** A port name: an IANA service name (RFC 6335 section 5.1). */
export const isPortName: FormatCheck = (value) => {
  const problems: string[] = [];
  if (value.length > 15) problems.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(value))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
};

/** A port number, or the name of a port. */
export function validatePort(port: number | string, field: string): FieldError[] {
  if (typeof port === 'string') return failing(isPortName, field, port);
  return port >= 1 && port <= 65535 ? [] : [invalid(field, port, 'must be between 1 and 65535, inclusive')];
}

/** A relative path that stays below its base directory. */
export const isDescendingPath: FormatCheck = (path) => [
  ...(path.startsWith('/') ? ['must be a relative path'] : []),
  ...hasNoBacksteps(path),
];

/** A descending path that does not start with a name beginning with `..`, which the kubelet reserves. */
export const isFilePath: FormatCheck = (path) => [
  ...isDescendingPath(path),
  ...(path.startsWith('..') && !path.startsWith('../') ? ["must not start with '..'"] : []),
];

export const hasNoBacksteps: FormatCheck = (path) => (path.split('/').includes('..') ? ["must not contain '..'"] : []);
