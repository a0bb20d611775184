import type { Closable } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { TokenLifetime, TokenLifetimeRequest } from '../../kinds/authentication/token-grant.ts';
import { TokenKeyFiles } from '../../pki/token-key-files.ts';
import type { SigningKey } from '../../pki/token-keys.ts';
import type { TokenAuthenticator } from '../authenticator.ts';
import { discoveryProblem, type IssuerDiscovery, issuerDiscovery } from './issuer-discovery.ts';
import { type LegacyTokenMark, LegacyTokenUse } from './legacy-token-use.ts';
import { tokenLifetime } from './lifetime.ts';
import type { ServiceAccountTokenOptions } from './options.ts';
import type { TokenObjects } from './revocation.ts';
import { serviceAccountAuthenticator } from './service-account-authenticator.ts';
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts';
import { registerTokenMetrics } from './token-metrics.ts';

interface ServiceAccountTokensContext {
  readonly dialect: Dialect;
  /** `host:port` at which clients reach this server; called only once it serves. */
  readonly externalAddress: () => string;
  readonly clock: Clock;
  readonly files: Files;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The service accounts of one scope. */
interface AccountsOfScope {
  /** Name of the scope. */
  readonly scope: string;
  readonly objects: TokenObjects;
  /** Writes a label on a token Secret. Default: the last use of such tokens is not recorded. */
  readonly markLegacyToken?: (mark: LegacyTokenMark) => Promise<void>;
}

/**
 * Tokens of one scope's service accounts. Tokens of other scopes are rejected, even if account name and uid are equal.
 */
export interface TokensOfScope {
  readonly authenticator: TokenAuthenticator;
  /** Absent without a signing key: TokenRequest is then not served. */
  readonly issuer?: TokenIssuer;
}

/** A server's support for service account tokens. Closing it stops watching the key files. */
export interface ServiceAccountTokens extends Closable {
  of(accounts: AccountsOfScope): TokensOfScope;
  lifetime(request: TokenLifetimeRequest): TokenLifetime;
  /** Absent if the issuer cannot be discovered; the log gives the reason. */
  readonly discovery?: IssuerDiscovery;
}

export function createServiceAccountTokens(
  options: ServiceAccountTokenOptions,
  context: ServiceAccountTokensContext,
): ServiceAccountTokens {
  const keyFiles = new TokenKeyFiles({
    ...options,
    clock: context.clock,
    files: context.files,
    logger: context.logger,
  });
  const keys = () => keyFiles.current();
  for (const warning of options.warnings) context.logger.warn(warning);
  const { signingKeyFile, issuers, apiAudiences, lookup } = options;
  const discovery = signingKeyFile && createDiscovery(options, context, keyFiles);
  const metrics = registerTokenMetrics(context.metrics);
  return {
    of: ({ scope, objects, markLegacyToken: mark }) => ({
      authenticator: serviceAccountAuthenticator({
        ...context,
        ...{ keys, issuers, scope, apiAudiences, lookup, objects, metrics },
        ...(mark && { legacyTokenUse: new LegacyTokenUse({ ...context, mark }) }),
      }),
      ...(signingKeyFile && { issuer: createIssuer(options, context, { files: keyFiles, scope }) }),
    }),
    ...(discovery && { discovery }),
    lifetime: (request) => tokenLifetime(request, options),
    close: () => keyFiles.close(),
  };
}

function createIssuer(
  { issuers: [issuer = ''] }: ServiceAccountTokenOptions,
  { dialect, clock, random }: ServiceAccountTokensContext,
  { files, scope }: { readonly files: TokenKeyFiles; readonly scope: string },
): TokenIssuer {
  const signingKey = (): SigningKey => {
    const key = files.current().signingKey;
    if (!key) throw new Error('no key signs tokens');
    return key;
  };
  return createTokenIssuer({ issuer, scope, signingKey, dialect, clock, random });
}

function createDiscovery(
  { issuers: [issuer = ''], jwksUri }: ServiceAccountTokenOptions,
  { externalAddress, logger }: ServiceAccountTokensContext,
  files: TokenKeyFiles,
): IssuerDiscovery | undefined {
  const problem = discoveryProblem(issuer);
  if (problem === undefined) return issuerDiscovery({ issuer, jwksUri, externalAddress }, () => files.current());
  logger.warn('others cannot verify service account tokens', { problem });
  return undefined;
}
