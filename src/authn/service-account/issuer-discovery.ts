import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { TokenKeySet } from '../../pki/token-key-files.ts';
import type { TokenKey } from '../../pki/token-keys.ts';
import { jwksPath } from '../../request/issuer-paths.ts';

interface DiscoveryOptions {
  /** `iss` of new tokens. */
  readonly issuer: string;
  /** `--service-account-jwks-uri`; undefined: this server's external address. */
  readonly jwksUri: string | undefined;
  /**
   * `host:port` at which clients reach this server; an IPv6 address is in brackets. Called when a document is first
   * read, as the port may be chosen only after start.
   */
  readonly externalAddress: () => string;
}

/** Response for one of the documents. */
export interface DiscoveryDocument {
  readonly body: Buffer;
  readonly headers: Readonly<Record<'content-type' | 'cache-control', string>>;
}

export interface IssuerDiscovery {
  configuration(): DiscoveryDocument;
  keySet(): DiscoveryDocument;
}

/** Relying parties may cache the documents for an hour, as with kube-apiserver. */
const cacheControl = 'public, max-age=3600';

/**
 * Why the issuer cannot be discovered, or undefined (Discovery 1.0, section 3: https, no query or fragment). The server
 * still works, but only it can verify its tokens.
 */
export function discoveryProblem(issuer: string): string | undefined {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== 'https:') return `the issuer ${JSON.stringify(issuer)} is no https URL`;
  if (url.search === '' && url.hash === '') return undefined;
  return `the issuer ${JSON.stringify(issuer)} has a query or a fragment`;
}

/** Both documents, rebuilt when a key changes. */
export function issuerDiscovery(options: DiscoveryOptions, keys: () => TokenKeySet): IssuerDiscovery {
  let written: (Written & { readonly of: TokenKeySet }) | undefined;
  const current = (): Written => {
    const of = keys();
    if (written?.of !== of) written = { of, ...write(options, of.all) };
    return written;
  };
  return { configuration: () => current().configuration, keySet: () => current().keySet };
}

interface Written {
  readonly configuration: DiscoveryDocument;
  readonly keySet: DiscoveryDocument;
}

const write = (options: DiscoveryOptions, keys: readonly TokenKey[]): Written => ({
  configuration: document(openidConfiguration(options, keys), 'application/json'),
  keySet: document(jwks(keys), 'application/jwk-set+json'),
});

const document = (value: unknown, contentType: string): DiscoveryDocument => ({
  body: Buffer.from(JSON.stringify(value)),
  headers: { 'content-type': contentType, 'cache-control': cacheControl },
});

/** The provider metadata that relying parties need; there are no endpoints for logging in. */
function openidConfiguration(
  { issuer, jwksUri, externalAddress }: DiscoveryOptions,
  keys: readonly TokenKey[],
): Readonly<Record<string, string | readonly string[]>> {
  return {
    issuer,
    jwks_uri: jwksUri ?? `https://${externalAddress()}${jwksPath}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithmsOf(keys),
  };
}

const algorithmsOf = (keys: readonly TokenKey[]): readonly SignatureAlgorithm[] =>
  [...new Set(keys.map(({ algorithm }) => algorithm))].sort();

/** A JWK Set (RFC 7517 section 5). */
const jwks = (keys: readonly TokenKey[]): { readonly keys: readonly TokenKey['jwk'][] } => ({
  keys: keys.map(({ jwk }) => jwk),
});
