import type { FileContent } from '../../base/watched-file.ts';
import { readSigningKey, readTokenKeys } from '../../pki/token-keys.ts';
import { extendedLifetimeSeconds, extendedRequestSeconds } from './lifetime.ts';

/** Values of the flags for service account tokens. */
export interface ServiceAccountTokenFlags {
  readonly 'service-account-key-file': readonly string[];
  readonly 'service-account-signing-key-file': string | undefined;
  readonly 'service-account-issuer': readonly string[];
  readonly 'service-account-jwks-uri': string | undefined;
  readonly 'service-account-lookup': boolean;
  /** Milliseconds; 0 and undefined: no maximum. */
  readonly 'service-account-max-token-expiration': number | undefined;
  readonly 'service-account-extend-token-expiration': boolean;
  readonly 'api-audiences': readonly string[];
  /** Verifies tokens if `--service-account-key-file` is not given. */
  readonly 'tls-private-key-file': string | undefined;
}

/** Options for service account tokens, read from files and checked. */
export interface ServiceAccountTokenOptions {
  readonly keyFiles: readonly FileContent[];
  /** Absent: no tokens are issued. */
  readonly signingKeyFile?: FileContent;
  /** New tokens have the first as `iss`. Empty without a signing key. */
  readonly issuers: readonly string[];
  /** Audiences of the API server; default: the issuers. */
  readonly apiAudiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly lookup: boolean;
  readonly maxExpirationSeconds: number | undefined;
  readonly extendExpiration: boolean;
  /** To be logged at start. */
  readonly warnings: readonly string[];
}

/** An invalid flag or combination of flags. The message begins with the flag. */
export class ServiceAccountFlagError extends Error {
  constructor(flag: keyof ServiceAccountTokenFlags, problem: string) {
    super(`--${flag}: ${problem}`);
    this.name = 'ServiceAccountFlagError';
  }
}

/** Reads a file; its errors name the file. */
type ReadFile = (path: string) => Buffer;

/**
 * Checks the flags and reads the files that they name. Undefined if there is no key to verify tokens, so that service
 * account tokens are not supported. Throws a ServiceAccountFlagError that names the flag.
 */
export function readServiceAccountTokens(
  flags: ServiceAccountTokenFlags,
  readFile: ReadFile,
): ServiceAccountTokenOptions | undefined {
  checkIssuers(flags);
  checkJwksUri(flags);
  const maximum = readMaximum(flags);
  const { keyFiles, signingKeyFile, warnings } = readKeyFiles(flags, readFile);
  if (keyFiles.length === 0 && !signingKeyFile) return undefined;
  const [issuers, audiences] = [flags['service-account-issuer'], flags['api-audiences']];
  return {
    keyFiles,
    ...(signingKeyFile && { signingKeyFile }),
    issuers,
    apiAudiences: audiences.length > 0 ? audiences : issuers,
    jwksUri: flags['service-account-jwks-uri'],
    lookup: flags['service-account-lookup'],
    maxExpirationSeconds: maximum,
    extendExpiration: flags['service-account-extend-token-expiration'],
    warnings: [...warnings, ...extensionWarnings(flags, maximum)],
  };
}

/** An issuer is any string; one with a colon must be a URL (RFC 7519 section 2). */
function checkIssuers(flags: ServiceAccountTokenFlags): void {
  const flag = 'service-account-issuer';
  const issuers = flags[flag];
  for (const [at, issuer] of issuers.entries()) {
    if (issuer === '') throw new ServiceAccountFlagError(flag, 'must not be empty');
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      throw new ServiceAccountFlagError(flag, `${JSON.stringify(issuer)} has a colon and is no URL`);
    }
    if (issuers.indexOf(issuer) < at)
      throw new ServiceAccountFlagError(flag, `${JSON.stringify(issuer)} is given twice`);
  }
  const signing = flags['service-account-signing-key-file'];
  if (issuers.length === 0 && signing !== undefined) {
    throw new ServiceAccountFlagError('service-account-signing-key-file', `needs --${flag}`);
  }
  if (issuers.length > 0 && signing === undefined) {
    throw new ServiceAccountFlagError(flag, 'needs --service-account-signing-key-file');
  }
}

function checkJwksUri(flags: ServiceAccountTokenFlags): void {
  const flag = 'service-account-jwks-uri';
  const uri = flags[flag];
  if (uri !== undefined && !(URL.canParse(uri) && new URL(uri).protocol === 'https:')) {
    throw new ServiceAccountFlagError(flag, `${JSON.stringify(uri)} is no https URL`);
  }
}

/** Longest expiration of a TokenRequest (spec section 2.3). Seconds. */
const longestSeconds = 2 ** 32;

function readMaximum(flags: ServiceAccountTokenFlags): number | undefined {
  const flag = 'service-account-max-token-expiration';
  const seconds = (flags[flag] ?? 0) / 1000;
  if (seconds === 0) return undefined;
  if (seconds >= 3600 && seconds <= longestSeconds) return Math.floor(seconds);
  throw new ServiceAccountFlagError(flag, 'must be between 1 hour and 2^32 seconds');
}

function extensionWarnings(flags: ServiceAccountTokenFlags, maximum: number | undefined): readonly string[] {
  if (!flags['service-account-extend-token-expiration'] || maximum === undefined) return [];
  const about = `--service-account-max-token-expiration of ${maximum} s with --service-account-extend-token-expiration:`;
  return [
    ...(maximum < extendedRequestSeconds
      ? [`${about} no token is extended, since none of ${extendedRequestSeconds} s is granted`]
      : []),
    ...(maximum >= extendedRequestSeconds && maximum < extendedLifetimeSeconds
      ? [`${about} extended tokens are valid for ${extendedLifetimeSeconds} s all the same`]
      : []),
  ];
}

function readKeyFiles(
  flags: ServiceAccountTokenFlags,
  readFile: ReadFile,
): Pick<ServiceAccountTokenOptions, 'keyFiles' | 'signingKeyFile' | 'warnings'> {
  const given = flags['service-account-key-file'].map((path) =>
    readChecked('service-account-key-file', path, readFile, readTokenKeys),
  );
  const flag = 'service-account-signing-key-file';
  const signingPath = flags[flag];
  const signingKeyFile =
    signingPath === undefined ? undefined : readChecked(flag, signingPath, readFile, readSigningKey);
  const verification =
    given.length > 0 ? { keyFiles: given, warnings: [] } : listenerKeyFile(flags['tls-private-key-file'], readFile);
  // Whether the listener's key fits is irrelevant if a signing key is configured.
  return signingKeyFile ? { keyFiles: verification.keyFiles, signingKeyFile, warnings: [] } : verification;
}

/**
 * Without `--service-account-key-file` the listener's private key verifies tokens (spec section 5.3), if its type
 * allows it; like in kube-apiserver, even if a signing key is configured.
 */
function listenerKeyFile(
  path: string | undefined,
  readFile: ReadFile,
): Pick<ServiceAccountTokenOptions, 'keyFiles' | 'warnings'> {
  if (path === undefined) return { keyFiles: [], warnings: [] };
  try {
    return { keyFiles: [readChecked('tls-private-key-file', path, readFile, readTokenKeys)], warnings: [] };
  } catch (error) {
    // The file may still be a valid TLS key; if not, the listener reports the error.
    const reason = error instanceof Error ? error.message : String(error);
    return { keyFiles: [], warnings: [`service account tokens are not accepted: ${reason}`] };
  }
}

function readChecked(
  flag: keyof ServiceAccountTokenFlags,
  path: string,
  readFile: ReadFile,
  check: (content: Buffer, path: string) => unknown,
): FileContent {
  try {
    const content = readFile(path);
    check(content, path);
    return { path, content };
  } catch (error) {
    throw new ServiceAccountFlagError(flag, error instanceof Error ? error.message : String(error));
  }
}
