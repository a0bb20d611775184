import { readAdmissionConfiguration } from '../admission/configuration/admission-configuration.ts';
import { defaultPluginConfigurations } from '../admission/plugins/plugin-configurations.ts';
import { defaultPlugins, pluginNames } from '../admission/plugins.ts';
import type { Files } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import type { FileContent } from '../base/watched-file.ts';
import { authorityOfAll, defaultLifetimeMs } from '../controllers/certificate-signing.ts';
import { chooseControllers } from '../controllers/controllers.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { dialects } from '../dialect/dialects.ts';
import { publishedApiVersions } from '../dialect/published-api-versions.ts';
import { kinds } from '../kinds/kinds.ts';
import { readKubeconfigUsers } from '../outbound/connection-files/kubeconfig-users.ts';
import type { KeyPair } from '../pki/key-pair-files.ts';
import { generateKey, keyToPem } from '../pki/keys.ts';
import { readSigningKey } from '../pki/token-keys.ts';
import type { UserInfo } from '../request/user-info.ts';
import { checkRuntimeConfig, type RuntimeConfig, unknownKeys } from '../resources/runtime-config.ts';
import type { ApiServerConfig, AuthenticationConfig, AuthorizationConfig } from '../server/wiring/config.ts';
import { defaultFeatures } from '../server/wiring/features.ts';
import type { BuiltInAuthorizer, ServerOptions, User } from './options.ts';

/** Names of document options, used in messages and as virtual file paths. No real file has such a name. */
const documents = {
  tokenKey: 'options:tokenKey',
  authentication: 'options:authenticationConfiguration',
  authorization: 'options:authorizationConfiguration',
  admission: 'options:admissionConfiguration',
} as const;

export const userInfoOf = ({ username, groups = [], uid = '', extra = {} }: User): UserInfo => ({
  ...{ username, groups, uid, extra },
});

interface LibraryConfig {
  readonly config: ApiServerConfig;
  /** Contents of the virtual files, by path. */
  readonly documents: ReadonlyMap<string, Buffer>;
}

const defaultAuthorizers: readonly BuiltInAuthorizer[] = ['Node', 'RBAC'];

/** The complete configuration of a server. Throws if a document or key is invalid. */
export function configOf(options: ServerOptions, authority: KeyPair, environmentFiles: Files): LibraryConfig {
  const authorityPem = authority.certificatePem;
  const { dialect: name = 'orch', controllers = ['*'], requestTimeoutMs = limits.requestMsMax } = options;
  const { readsInFlightMax: reads, writesInFlightMax: writes } = limits;
  const files = new Map<string, Buffer>();
  const keep = (path: string, text: string): FileContent => {
    const content = Buffer.from(text);
    files.set(path, content);
    return { path, content };
  };
  const dialect = dialects[name];
  const config: ApiServerConfig = {
    dialect,
    storage: options.storage ?? { backend: 'memory' },
    requests: { inFlightMax: { reads, writes }, timeoutMs: requestTimeoutMs, watchMsMin: limits.watchMsDefault },
    authentication: authenticationOf(options, { issuer: dialect.tokenIssuer, authorityPem, keep }),
    authorization: authorizationOf(options, keep),
    livezGraceMs: 0,
    shutdownDelayMs: 0,
    timesToLiveMs: { event: options.eventTtlMs ?? 3600_000 },
    features: { ...defaultFeatures, ...options.features },
    runtimeConfig: runtimeConfigOf(options, dialect),
    ...admissionOf(options, dialect, environmentFiles),
    controllers: {
      run: chooseControllers(controllers),
      rootAuthority: authorityPem,
      certificateSigning: { authorities: authorityOfAll(() => authority), lifetimeMsMax: defaultLifetimeMs },
    },
    logger: options.logger ?? silentLogger,
  };
  return { config, documents: files };
}

type AdmissionConfig = Pick<ApiServerConfig, 'admissionPlugins' | 'pluginConfigurations' | 'webhookUsers'>;

function admissionOf(options: ServerOptions, dialect: Dialect, files: Files): AdmissionConfig {
  const { admissionPlugins = defaultPlugins, admissionConfiguration: document } = options;
  const { mutatingWebhookUsers: admit, validatingWebhookUsers: validating, ...configured } = readAdmission();
  const pluginConfigurations = { ...defaultPluginConfigurations, ...configured };
  if (pluginConfigurations.eventLimits.length === 0 && admissionPlugins.includes('EventRateLimit')) {
    throw new TypeError('admissionPlugins: EventRateLimit needs limits: see admissionConfiguration');
  }
  return { admissionPlugins, pluginConfigurations, webhookUsers: { admit, validating } };

  function readAdmission(): ReturnType<typeof readAdmissionConfiguration> {
    if (document === undefined) return {};
    try {
      return readAdmissionConfiguration(Buffer.from(document), {
        dialect,
        readFile: (path) => files.read(path),
        readUsers: (path) => readKubeconfigUsers(path, dialect, files),
        known: (name) => pluginNames.some((each) => each === name),
      });
    } catch (error) {
      throw new TypeError(`${documents.admission}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }
}

/** Throws a TypeError for APIs that are not there. */
function runtimeConfigOf({ runtimeConfig = {} }: ServerOptions, dialect: Dialect): RuntimeConfig {
  const [config, all] = [new Map(Object.entries(runtimeConfig)), kinds(dialect)];
  for (const [api, setting] of Object.entries<unknown>(runtimeConfig)) {
    if (typeof setting !== 'boolean') throw new TypeError(`runtimeConfig: ${api} must be true or false`);
  }
  const [unknown] = unknownKeys(all, config);
  if (unknown !== undefined) throw new TypeError(`runtimeConfig: there is no API ${JSON.stringify(unknown)}`);
  try {
    checkRuntimeConfig(config, publishedApiVersions(dialect));
  } catch (error) {
    throw new TypeError(`runtimeConfig: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  return config;
}

type Keep = (path: string, text: string) => FileContent;

interface AuthenticationContext {
  readonly issuer: string;
  readonly authorityPem: string;
  readonly keep: Keep;
}

function authenticationOf(
  options: ServerOptions,
  { issuer, authorityPem, keep }: AuthenticationContext,
): AuthenticationConfig {
  const { authenticationConfiguration: document, tokenKey = keyToPem(generateKey()) } = options;
  const signingKeyFile = keep(documents.tokenKey, tokenKey);
  readSigningKey(signingKeyFile.content, signingKeyFile.path);
  return {
    clientAuthorities: { fixed: [authorityPem, ...(options.clientAuthorities ?? [])] },
    staticTokens: (options.staticTokens ?? []).map(({ token, user }) => ({ token, user: userInfoOf(user) })),
    serviceAccounts: {
      keyFiles: [],
      signingKeyFile,
      issuers: [issuer],
      apiAudiences: [issuer],
      jwksUri: undefined,
      lookup: true,
      maxExpirationSeconds: undefined,
      extendExpiration: true,
      warnings: [],
    },
    apiAudiences: [issuer],
    bootstrapTokens: false,
    ...(document !== undefined && { providers: { type: 'file', ...keep(documents.authentication, document) } }),
    anonymous: options.anonymous ?? true,
    anonymousGiven: options.anonymous !== undefined,
  };
}

function authorizationOf(options: ServerOptions, keep: Keep): AuthorizationConfig {
  const { authorizationConfiguration: document, authorizers = defaultAuthorizers } = options;
  if (document !== undefined) return { chain: { type: 'file', ...keep(documents.authorization, document) } };
  const specs = authorizers.map((type) => ({ type, name: type.toLowerCase() }));
  return { chain: { type: 'specs', specs } };
}
