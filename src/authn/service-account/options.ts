import type { FileContent } from '../../base/watched-file.ts';
import { readSigningKey, readTokenKeys } from '../../pki/token-keys.ts';
import { extendedLifetimeSeconds, extendedRequestSeconds } from './lifetime.ts';

/** Values of the flags on service-account tokens, as they were given. */
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
  /** Verifies tokens where no key file is named and none that signs. */
  readonly 'tls-private-key-file': string | undefined;
}

/** All that service-account tokens need, read and checked. */
export interface ServiceAccountTokenOptions {
  readonly keyFiles: readonly FileContent[];
  /** Absent: no tokens are made. */
  readonly signingKeyFile?: FileContent;
  /** The first signs; empty where none signs. */
  readonly issuers: readonly string[];
  /** Whom tokens for the API server are for; the issuers, unless the flag says otherwise. */
  readonly apiAudiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly lookup: boolean;
  readonly maxExpirationSeconds: number | undefined;
  readonly extendExpiration: boolean;
  /** For the log. */
  readonly warnings: readonly string[];
}

/** A flag whose value, or company, cannot be. The message begins with the flag. */
export class ServiceAccountFlagError extends Error {
  constructor(flag: keyof ServiceAccountTokenFlags, problem: string) {
    super(`--${flag}: ${problem}`);
    this.name = 'ServiceAccountFlagError';
  }
}

/** Reads a file; the error that it throws names it. */
type ReadFile = (path: string) => Buffer;

/**
 * Checks the flags and reads the files that they name. Undefined where there is no key to verify a token with: then this
 * server knows no such tokens. Throws a ServiceAccountFlagError that names the flag.
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

/** An issuer is any text; one with a colon in it is meant to be a URL. */
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

/** The longest that a TokenRequest may ask for (spec section 2.3). Seconds. */
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
  const fallen =
    given.length > 0 ? { keyFiles: given, warnings: [] } : fallBack(flags['tls-private-key-file'], readFile);
  // That the key of the listener is of no use for tokens means nothing where another one signs them.
  return signingKeyFile ? { keyFiles: fallen.keyFiles, signingKeyFile, warnings: [] } : fallen;
}

/**
 * The key of the listener verifies tokens where no key file is named (spec section 5.3), and where it can; also beside one
 * that signs, as in published servers.
 */
function fallBack(
  path: string | undefined,
  readFile: ReadFile,
): Pick<ServiceAccountTokenOptions, 'keyFiles' | 'warnings'> {
  if (path === undefined) return { keyFiles: [], warnings: [] };
  try {
    return { keyFiles: [readChecked('tls-private-key-file', path, readFile, readTokenKeys)], warnings: [] };
  } catch (error) {
    // It is a good key for its own purpose, or whoever reads it for that says what is wrong with it.
    const reason = error instanceof Error ? error.message : String(error);
    return { keyFiles: [], warnings: [`tokens of service accounts are not known: ${reason}`] };
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
