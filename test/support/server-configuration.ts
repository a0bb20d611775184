import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPlugins } from '../../src/admission/plugins.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { orch } from '../../src/dialect/orch.ts';
import { issueSelfSigned } from '../../src/pki/certificate.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import type { ApiServerConfig, ServerConfig } from '../../src/server/wiring/config.ts';
import { defaultFeatures } from '../../src/server/wiring/features.ts';

/** Configurations of servers in the process of a test. */

/** A server in memory with RBAC, and without credentials or controllers. */
export const memoryConfiguration: ApiServerConfig = {
  dialect: orch,
  storage: { backend: 'memory' },
  requests: {
    inFlightMax: { reads: limits.readsInFlightMax, writes: limits.writesInFlightMax },
    timeoutMs: limits.requestMsMax,
    watchMsMin: limits.watchMsDefault,
  },
  authentication: {
    staticTokens: [],
    apiAudiences: [],
    bootstrapTokens: false,
    anonymous: false,
    anonymousGiven: true,
  },
  authorization: { chain: { type: 'specs', specs: [{ type: 'RBAC', name: 'rbac' }] } },
  livezGraceMs: 0,
  shutdownDelayMs: 0,
  timesToLiveMs: { event: 3600_000 },
  features: defaultFeatures,
  runtimeConfig: new Map(),
  admissionPlugins: defaultPlugins,
  controllers: { run: [], rootAuthority: '' },
  logger: silentLogger,
};

const issuer = 'https://issuer.test';

/**
 * A server with everything that follows objects: service accounts, bootstrap tokens, nodes, roles and controllers. The
 * key of its tokens is written to the directory.
 */
export function followingConfiguration(directory: string): ApiServerConfig {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const content = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const path = join(directory, 'sign.pem');
  writeFileSync(path, content);
  return {
    ...memoryConfiguration,
    authentication: {
      ...memoryConfiguration.authentication,
      apiAudiences: [issuer],
      bootstrapTokens: true,
      serviceAccounts: {
        keyFiles: [],
        signingKeyFile: { path, content },
        issuers: [issuer],
        apiAudiences: [issuer],
        jwksUri: undefined,
        lookup: true,
        maxExpirationSeconds: undefined,
        extendExpiration: false,
        warnings: [],
      },
    },
    authorization: {
      chain: {
        type: 'specs',
        specs: [
          { type: 'Node', name: 'node' },
          { type: 'RBAC', name: 'rbac' },
        ],
      },
    },
    controllers: { run: ['garbage-collector-controller', 'namespace-controller'], rootAuthority: '' },
  };
}

/** Static tokens of a server that listens: of an administrator, and of a user without permissions. */
export const tokens = { root: 'r00t', jane: 's3cret' } as const;

/** A server on a free port of the loopback interface, with a self-signed certificate and `tokens`. */
export function listeningConfiguration(more: Partial<ServerConfig> = {}): ServerConfig {
  const key = generateKey();
  const now = systemClock.now();
  const certificate = issueSelfSigned(
    {
      subject: { commonName: 'server' },
      publicKey: createPublicKey(key),
      uses: ['serverAuth'],
      hosts: ['127.0.0.1'],
      notBefore: now - 60_000,
      notAfter: now + 3600_000,
    },
    key,
    systemRandom,
  );
  return {
    ...memoryConfiguration,
    listen: { address: '127.0.0.1', port: 0 },
    tls: { minVersion: 'TLSv1.2', named: [], streamsPerConnectionMax: 100, goawayChance: 0 },
    serving: { certificate: certificate.toString(), key: keyToPem(key) },
    authentication: {
      ...memoryConfiguration.authentication,
      staticTokens: [
        { token: tokens.root, user: { username: 'root', uid: '', groups: ['system:masters'], extra: {} } },
        { token: tokens.jane, user: { username: 'jane', uid: '', groups: [], extra: {} } },
      ],
      anonymous: true,
    },
    ...more,
  };
}
