import { isDeepStrictEqual } from 'node:util';
import { type AnonymousPolicy, anonymousPolicy } from '../../../authn/anonymous.ts';
import type { TokenAuthenticator } from '../../../authn/authenticator.ts';
import { type CertificateLifetimes, certificateLifetimes } from '../../../authn/client-certificate.ts';
import {
  type AuthenticationSettings,
  readAuthenticationConfiguration,
} from '../../../authn/configuration/authentication-configuration.ts';
import { anonymousProblems } from '../../../authn/configuration/oidc-flags.ts';
import type { JwtAuthenticator } from '../../../authn/oidc/jwt-authenticator.ts';
import { OidcAuthenticators } from '../../../authn/oidc/oidc-authenticators.ts';
import { oidcMetrics } from '../../../authn/oidc/oidc-metrics.ts';
import {
  createServiceAccountTokens,
  type ServiceAccountTokens,
} from '../../../authn/service-account/service-account-tokens.ts';
import { cachedTokens, type TokenCacheCounts, tokenCacheCounts } from '../../../authn/token-cache.ts';
import { webhookTokenMetrics } from '../../../authn/webhook/webhook-metrics.ts';
import { webhookTokenAuthenticator } from '../../../authn/webhook/webhook-token.ts';
import type { ClosableStack } from '../../../base/disposable.ts';
import type { Files } from '../../../base/files.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Random } from '../../../base/random.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { type FileContent, WatchedFile } from '../../../base/watched-file.ts';
import { loadCel } from '../../../cel/cel.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { TrustPool } from '../../../pki/trust-pool.ts';
import type { AuthenticationConfig, AuthoritiesConfig } from '../config.ts';
import type { OutsideWorld } from '../environment.ts';
import { openWebhook } from './webhooks.ts';

interface SourceParts {
  readonly environment: OutsideWorld;
  readonly config: AuthenticationConfig;
  readonly dialect: Dialect;
  /** `host:port` at which clients reach this server. Called on first use. */
  readonly externalAddress: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called when the authorities of a pool have changed. */
  readonly authoritiesChanged: () => void;
  readonly files: Files;
  /** Receives everything that is opened; closed with the server. */
  readonly held: ClosableStack;
}

/**
 * Sources of identity that do not depend on objects: files, keys, OIDC providers, webhooks. Opened once for all scopes
 * of a process.
 */
export interface IdentitySources {
  /** Issuers of client certificates and of proxy certificates. */
  readonly clients: TrustPool | undefined;
  readonly lifetimes: CertificateLifetimes;
  readonly proxies: TrustPool | undefined;
  /** Undefined if no key verifies service account tokens. */
  readonly serviceAccounts: ServiceAccountTokens | undefined;
  readonly oidc: OidcAuthenticators | undefined;
  readonly webhooks: readonly TokenAuthenticator[];
  readonly anonymous: AnonymousPolicy;
}

/** Rejects if a file has invalid content; the message names it. */
export async function openIdentitySources(parts: SourceParts): Promise<IdentitySources> {
  const { config, held } = parts;
  const serviceAccounts = config.serviceAccounts && createServiceAccountTokens(config.serviceAccounts, parts);
  const clients = openPool(config.clientAuthorities, parts);
  const proxies = openPool(config.requestHeader?.authorities, parts);
  const counts = tokenCacheCounts(parts.metrics);
  const { authenticators: oidc, anonymous } = await openProviders(parts, counts);
  const webhooks = webhookTokens(parts, counts);
  if (serviceAccounts) held.add(serviceAccounts);
  const lifetimes = certificateLifetimes(parts.metrics, parts.clock);
  return { clients, lifetimes, proxies, serviceAccounts, oidc, webhooks, anonymous };
}

type PoolParts = Pick<SourceParts, 'clock' | 'files' | 'logger' | 'held' | 'authoritiesChanged'>;

/** A pool of authorities, reloaded when its file changes. */
export function openPool(
  authorities: AuthoritiesConfig | undefined,
  { clock, files, logger, held, authoritiesChanged }: PoolParts,
): TrustPool | undefined {
  if (!authorities) return undefined;
  const { fixed, file } = authorities;
  const pemWith = (content: string): string => [...fixed, content].join('\n');
  const pool = new TrustPool(pemWith(file?.content.toString() ?? ''), clock);
  if (file) {
    const { path, content } = file;
    const apply = (now: Buffer): void => {
      // Validated alone: joined with fixed authorities, an empty file would pass.
      new TrustPool(now.toString(), clock);
      pool.replace(pemWith(now.toString()));
      logger.info('authorities of clients were read anew', { file: path });
      authoritiesChanged();
    };
    const failed = (error: unknown): void =>
      logger.error('authorities of clients stay as they are', { file: path, error });
    held.add(new WatchedFile({ path, clock, files, apply, failed }, content));
  }
  return pool;
}

function webhookTokens(parts: SourceParts, counts: TokenCacheCounts): readonly TokenAuthenticator[] {
  const { config, held, metrics, clock, random } = parts;
  if (!config.tokenWebhook) return [];
  const { file, version, cacheMs } = config.tokenWebhook;
  const webhook = held.add(openWebhook({ type: 'file', file }, limits.webhookTokenMsMax, parts));
  const asking = webhookTokenAuthenticator({
    ...parts,
    ask: webhook.send,
    version,
    ownAudiences: config.apiAudiences,
    metrics: webhookTokenMetrics(metrics),
  });
  // Shorter than in kube-apiserver, so that a user newly added at the webhook is accepted soon.
  const failureMs = Math.min(cacheMs, limits.unknownTokenKeptMs);
  return [cachedTokens(asking, { clock, random, successMs: cacheMs, failureMs, counts })];
}

interface Providers {
  readonly authenticators: OidcAuthenticators | undefined;
  readonly anonymous: AnonymousPolicy;
}

/** OIDC providers from flags or a file, and the anonymous policy, which the file may set too. */
async function openProviders(parts: SourceParts, tokenCacheCounts: TokenCacheCounts): Promise<Providers> {
  const { config, metrics, clock, held, environment } = parts;
  const { network } = environment;
  const { providers } = config;
  const reports = oidcMetrics({ metrics, clock, serverId: environment.hostname });
  const open = (authenticators: readonly JwtAuthenticator[]): OidcAuthenticators =>
    held.add(new OidcAuthenticators(authenticators, { ...parts, network, metrics: reports, tokenCacheCounts }));
  if (providers?.type === 'file') return openProviderFile(parts, providers, open);
  return { authenticators: providers && open(providers.authenticators), anonymous: byFlag(config) };
}

/** The providers of an AuthenticationConfiguration, which is reloaded when it changes. */
async function openProviderFile(
  parts: SourceParts,
  { path, content }: FileContent,
  open: (authenticators: readonly JwtAuthenticator[]) => OidcAuthenticators,
): Promise<Providers> {
  const { config, clock, files, held } = parts;
  const first = await readProviderFile(parts, content).catch((error) => {
    throw inFile(`--authentication-config: ${path}`, error);
  });
  const authenticators = open(first.authenticators);
  const replace = async (changed: Buffer): Promise<void> => {
    const settings = await readProviderFile(parts, changed);
    // As in kube-apiserver, the anonymous policy cannot change while the server runs.
    if (!isDeepStrictEqual(settings.anonymous, first.anonymous)) {
      throw new Error('anonymous: changed from initial configuration file: restart the server');
    }
    authenticators.replace(settings.authenticators);
  };
  // Serialized, so that the last content wins.
  let work = Promise.resolve();
  const apply = (changed: Buffer): void => {
    work = work.then(() => replace(changed)).catch((error) => authenticators.reloadFailed(inFile(path, error)));
  };
  const failed = (error: unknown): void => authenticators.reloadFailed(error);
  held.add(new WatchedFile({ path, clock, files, apply, failed }, content));
  return { authenticators, anonymous: first.anonymous ? anonymousPolicy(first.anonymous) : byFlag(config) };
}

const inFile = (path: string, error: unknown): Error =>
  new Error(`${path}: ${error instanceof Error ? error.message : error}`, { cause: error });

async function readProviderFile({ config, dialect }: SourceParts, content: Buffer): Promise<AuthenticationSettings> {
  const disallowedIssuers = config.serviceAccounts?.issuers ?? [];
  const settings = await readAuthenticationConfiguration(content, { dialect, disallowedIssuers, loadCel });
  const [problem] = anonymousProblems(config.anonymousGiven, settings.anonymous);
  if (problem !== undefined) throw new Error(problem);
  return settings;
}

const byFlag = ({ anonymous }: AuthenticationConfig): AnonymousPolicy => (anonymous ? 'allow' : 'refuse');
