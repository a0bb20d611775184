import { dirname, join } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import { dialects } from '../../dialect/dialects.ts';
import { readKeyPair } from '../../pki/key-pair-files.ts';
import type { EtcdOverride, KeyPairPem, ServerConfig, StorageConfig } from '../../server/wiring/config.ts';
import { externalAddress } from '../addresses.ts';
import { UsageError } from '../usage-error.ts';
import { readAdmissionPlugins } from './admission-flags.ts';
import { readPluginConfigurations } from './admission-options.ts';
import { readAgents } from './agent-flags.ts';
import { readAudit } from './audit-options.ts';
import { readAuthentication } from './authentication-options.ts';
import { readAuthorization } from './authorization-options.ts';
import { readStoreChecks } from './etcd-client-flags.ts';
import { named, readBundle, readBytes } from './flag-files.ts';
import { readMetrics } from './metrics-flags.ts';
import { readRequests } from './request-flags.ts';
import { readRuntimeConfig } from './runtime-config-flag.ts';
import type { ServerFlagValues } from './server-flags.ts';
import { readApiService, readServiceRanges } from './service-flags.ts';
import { readTracing } from './tracing-options.ts';

/**
 * Reads the configuration that depends on flags alone. Files are read and validated, those with token keys by
 * `readTokenKey`. Directories are created last, so that invalid flags leave nothing behind.
 */
export const readServerOptions = (
  values: ServerFlagValues,
  readTokenKey: (path: string) => Buffer = readBytes,
): ServerOptions => ({
  ...readOptionsWithoutStorage(values, readTokenKey),
  ...readEncryption(values),
  storage: readStorage(values),
});

type ServerOptions = Omit<
  ServerConfig,
  'serving' | 'followServing' | 'tls' | 'logger' | 'accessLog' | 'beforeReady' | 'controllers'
>;

/** The same for a server whose store the flags do not say. */
export function readOptionsWithoutStorage(
  values: ServerFlagValues,
  readTokenKey: (path: string) => Buffer,
): Omit<ServerOptions, 'storage'> {
  const authorization = readAuthorization(values);
  const admissionPlugins = readAdmissionPlugins(values);
  const audit = readAudit(values);
  const tracing = readTracing(values);
  return {
    dialect: dialects[values.dialect],
    listen: { address: values['bind-address'], port: values['secure-port'] },
    external: externalAddress(values),
    requests: readRequests(values),
    authorization,
    agents: readAgents(values),
    ...(audit && { audit }),
    ...(tracing && { tracing }),
    metrics: readMetrics(values),
    ...readStoreChecks(values),
    livezGraceMs: values['livez-grace-period'],
    shutdownDelayMs: values['shutdown-delay-duration'],
    timesToLiveMs: { event: values['event-ttl'] },
    features: values['feature-gates'].features,
    wholeStages: values['feature-gates'].wholeStages,
    serviceRanges: readServiceRanges(values),
    apiService: readApiService(values),
    runtimeConfig: readRuntimeConfig(values),
    admissionPlugins,
    ...readPluginConfigurations(values),
    authentication: readAuthentication(values, readTokenKey),
  };
}

/** The directory for the server's own keys and certificates. */
export const certificateDirectory = (values: ServerFlagValues): string =>
  values['cert-dir'] ?? join(values['data-dir'], 'pki');

/** The serving pair named by the flags; undefined if none is. */
export function readServingPair(values: ServerFlagValues): KeyPairPem | undefined {
  return readPair(values, 'tls-cert-file', 'tls-private-key-file');
}

function readEncryption(values: ServerFlagValues): Pick<ServerOptions, 'encryption'> {
  const path = values['encryption-provider-config'];
  const reload = values['encryption-provider-config-automatic-reload'];
  if (path === undefined) {
    if (reload)
      throw new UsageError(
        '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
      );
    return {};
  }
  const content = named('encryption-provider-config', () => readBytes(path));
  if (content.length === 0) {
    throw new UsageError(
      `--encryption-provider-config: encryption provider configuration file ${JSON.stringify(path)} is empty`,
    );
  }
  return { encryption: { path, content, reload } };
}

function readStorage(values: ServerFlagValues): StorageConfig {
  const etcdFlags = (
    ['etcd-servers', 'etcd-servers-overrides', 'etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const
  ).filter((name) => values[name] !== undefined && values[name].length > 0);
  const backend = values['storage-backend'] || (values['etcd-servers'].length > 0 ? 'etcd3' : 'sqlite');
  if (backend === 'sqlite') {
    if (etcdFlags.length > 0) throw new UsageError(`--${etcdFlags[0]} goes with --storage-backend=etcd3 only`);
    return sqliteStorage(values);
  }
  if (values['sqlite-file'] !== undefined)
    throw new UsageError('--sqlite-file goes with --storage-backend=sqlite only');
  const overrides = named('etcd-servers-overrides', () => values['etcd-servers-overrides'].map(readOverride));
  return {
    ...etcdStorage(values),
    ...(overrides.length > 0 && { overrides }),
    compactionMs: values['etcd-compaction-interval'],
  };
}

/** The group is empty for the core group, the resource `*` for all of a group. */
function readOverride(text: string): EtcdOverride {
  const [place = '', servers = '', ...more] = text.split('#');
  const [group = '', resource = '', ...rest] = place.split('/');
  if (resource === '' || servers === '' || more.length > 0 || rest.length > 0) {
    const shown = JSON.stringify(withoutUser(text));
    throw new Error(`${shown} must be of format: group/resource#servers, where servers are URLs, semicolon separated`);
  }
  const endpoints = servers.split(';').map((each) => each.trim());
  endpoints.forEach(checkEndpoint);
  return { group, resource, endpoints };
}

/** What stands before an @ may be a password. */
const withoutUser = (text: string): string => text.replace(/[^/#;]*@/g, '...@');

function sqliteStorage(values: ServerFlagValues): StorageConfig {
  const file = databaseFile(values);
  named(values['sqlite-file'] === undefined ? 'data-dir' : 'sqlite-file', () => makePrivateDirectory(dirname(file)));
  return { backend: 'sqlite', file };
}

/** The database named by the flags. */
export const databaseFile = (values: Pick<ServerFlagValues, 'sqlite-file' | 'data-dir'>): string =>
  values['sqlite-file'] ?? join(values['data-dir'], 'orch.db');

type EtcdValues = Pick<
  ServerFlagValues,
  'etcd-servers' | 'etcd-cafile' | 'etcd-certfile' | 'etcd-keyfile' | 'etcd-prefix'
>;

/** The etcd that the flags name. */
export function etcdStorage(values: EtcdValues): Extract<StorageConfig, { readonly backend: 'etcd3' }> {
  const endpoints = values['etcd-servers'];
  if (endpoints.length === 0) throw new UsageError('--storage-backend=etcd3 needs --etcd-servers');
  named('etcd-servers', () => endpoints.forEach(checkEndpoint));
  const prefix = `/${values['etcd-prefix'].replace(/^\/+|\/+$/g, '')}`;
  if (prefix === '/') throw new UsageError('--etcd-prefix: must not be empty');
  const caFile = values['etcd-cafile'];
  const client = readPair(values, 'etcd-certfile', 'etcd-keyfile');
  const { 'etcd-certfile': certificate = '', 'etcd-keyfile': key = '' } = values;
  const tls = {
    ...(caFile !== undefined && { authorities: readBundle('etcd-cafile', caFile) }),
    ...(client && { client: { ...client, files: { certificate, key } } }),
  };
  return { backend: 'etcd3', endpoints, prefix, ...(Object.keys(tls).length > 0 && { tls }) };
}

function checkEndpoint(endpoint: string): void {
  // Not echoed: the part before the @ may contain a password.
  if (endpoint.includes('@')) throw new Error('an address with a user name is not taken: see --etcd-certfile');
  if (/^unix:\/\/\/[^?#]+$/.test(endpoint)) return;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname)) {
    throw new Error(`${JSON.stringify(endpoint)} is not of the form https://HOST:PORT or unix:///PATH`);
  }
}

/** A certificate and key from the files of two flags, which must be given together. */
function readPair(
  values: Partial<Pick<ServerFlagValues, 'tls-cert-file' | 'tls-private-key-file' | 'etcd-certfile' | 'etcd-keyfile'>>,
  certificateFlag: 'tls-cert-file' | 'etcd-certfile',
  keyFlag: 'tls-private-key-file' | 'etcd-keyfile',
): KeyPairPem | undefined {
  const [certificate, key] = [values[certificateFlag], values[keyFlag]];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined) throw new UsageError(`--${keyFlag} needs --${certificateFlag}`);
  if (key === undefined) throw new UsageError(`--${certificateFlag} needs --${keyFlag}`);
  const pair = named(certificateFlag, () => readKeyPair({ certificate, key }));
  return { certificate: pair.certificatePem, key: pair.keyPem };
}
