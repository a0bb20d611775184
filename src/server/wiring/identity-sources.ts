import { isDeepStrictEqual } from 'node:util';
import { type AnonymousPolicy, anonymousPolicy } from '../../authn/anonymous.ts';
import type { TokenAuthenticator } from '../../authn/authenticator.ts';
import {
  type AuthenticationSettings,
  readAuthenticationConfiguration,
} from '../../authn/configuration/authentication-configuration.ts';
import { anonymousProblems } from '../../authn/configuration/oidc-flags.ts';
import type { JwtAuthenticator } from '../../authn/oidc/jwt-authenticator.ts';
import { OidcAuthenticators } from '../../authn/oidc/oidc-authenticators.ts';
import { oidcMetrics } from '../../authn/oidc/oidc-metrics.ts';
import {
  createServiceAccountTokens,
  type ServiceAccountTokens,
} from '../../authn/service-account/service-account-tokens.ts';
import { cachedTokens, type TokenCacheCounts, tokenCacheCounts } from '../../authn/token-cache.ts';
import { webhookTokenMetrics } from '../../authn/webhook/webhook-metrics.ts';
import { webhookTokenAuthenticator } from '../../authn/webhook/webhook-token.ts';
import type { Clock } from '../../base/clock.ts';
import type { ClosableStack } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import { type FileContent, WatchedFile } from '../../base/watched-file.ts';
import { loadCel } from '../../cel/cel.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { TrustPool } from '../../pki/trust-pool.ts';
import type { AuthenticationConfig, AuthoritiesConfig } from './config.ts';
import type { OutsideWorld } from './environment.ts';
import { openWebhook } from './webhooks.ts';

interface SourceParts {
  readonly environment: OutsideWorld;
  readonly config: AuthenticationConfig;
  readonly dialect: Dialect;
  /** `host:port` at which others reach this server. Asked for when the first of them wants to know. */
  readonly externalAddress: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called when the authorities of the pools have become others. */
  readonly authoritiesChanged: () => void;
  /** What is opened is closed with the server. */
  readonly files: Files;
  readonly held: ClosableStack;
}

/**
 * What tells who somebody is without looking at objects: files, keys, providers, webhooks. Opened once, for all scopes of a
 * process.
 */
export interface IdentitySources {
  /** Who signs certificates of clients, and of proxies. */
  readonly clients: TrustPool | undefined;
  readonly proxies: TrustPool | undefined;
  /** Absent where no key verifies tokens of service accounts. */
  readonly serviceAccounts: ServiceAccountTokens | undefined;
  readonly oidc: OidcAuthenticators | undefined;
  readonly webhooks: readonly TokenAuthenticator[];
  readonly anonymous: AnonymousPolicy;
}

/** Rejects where a file that was read cannot be used; the message names it. */
export async function openIdentitySources(parts: SourceParts): Promise<IdentitySources> {
  const { config, held } = parts;
  const serviceAccounts = config.serviceAccounts && createServiceAccountTokens(config.serviceAccounts, parts);
  const clients = openPool(config.clientAuthorities, parts);
  const proxies = openPool(config.requestHeader?.authorities, parts);
  const counts = tokenCacheCounts(parts.metrics);
  const { authenticators: oidc, anonymous } = await openProviders(parts, counts);
  const webhooks = webhookTokens(parts, counts);
  if (serviceAccounts) held.add(serviceAccounts);
  return { clients, proxies, serviceAccounts, oidc, webhooks, anonymous };
}

/** A pool of authorities, and what of it comes from a file that is looked at again. */
function openPool(
  authorities: AuthoritiesConfig | undefined,
  { clock, files, logger, held, authoritiesChanged }: SourceParts,
): TrustPool | undefined {
  if (!authorities) return undefined;
  const { fixed, file } = authorities;
  const pemWith = (content: string): string => [...fixed, content].join('\n');
  const pool = new TrustPool(pemWith(file?.content.toString() ?? ''), clock);
  if (file) {
    const { path, content } = file;
    const apply = (now: Buffer): void => {
      // Checked alone: beside fixed ones, an empty file would look like a good one.
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
  // Shorter than published servers remember it: who is made known at the webhook has not long to wait.
  const failureMs = Math.min(cacheMs, limits.unknownTokenKeptMs);
  return [cachedTokens(asking, { clock, random, successMs: cacheMs, failureMs, counts })];
}

interface Providers {
  readonly authenticators: OidcAuthenticators | undefined;
  readonly anonymous: AnonymousPolicy;
}

/** The providers of flags or of a file, and who may come in without a credential, which the file may say too. */
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

/** The providers of an AuthenticationConfiguration, which is looked at again from time to time. */
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
    // As published: who may come in without a credential is not changed while the server runs.
    if (!isDeepStrictEqual(settings.anonymous, first.anonymous)) {
      throw new Error('anonymous: changed from initial configuration file: restart the server');
    }
    authenticators.replace(settings.authenticators);
  };
  // One after the other: the last content counts.
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
