import type { X509Certificate } from 'node:crypto';
import { StatusError } from '../meta/status-error.ts';
import type { Credentials } from './authenticator.ts';

/** Test support: a request with these credentials. Header names in lower case; several values are several lines. */
export function showing(shown: {
  readonly certificate?: X509Certificate | undefined;
  readonly certificateError?: unknown;
  readonly token?: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}): Credentials {
  const headers: Readonly<Record<string, string | readonly string[]>> = {
    ...(shown.token !== undefined && { authorization: `Bearer ${shown.token}` }),
    ...shown.headers,
  };
  const headerLines = (name: string): readonly string[] => [headers[name] ?? []].flat();
  return {
    signal: new AbortController().signal,
    peer: { certificate: shown.certificate, certificateError: shown.certificateError },
    target: shown.target ?? '/',
    header: (name) => (headers[name] === undefined ? undefined : headerLines(name).join(', ')),
    headerLines,
    headerNames: () => Object.keys(headers),
  };
}

export const isUnauthorized = (error: unknown): boolean =>
  error instanceof StatusError &&
  error.code === 401 &&
  error.message === 'Unauthorized' &&
  error.headers['www-authenticate'] === 'Bearer';
