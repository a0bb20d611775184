import { join } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import { systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type dialectNames, dialects } from '../../dialect/dialects.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import { ensureSelfSigned, makeSelfSigned } from '../../pki/ca.ts';
import { readKeyPair } from '../../pki/key-pair-files.ts';
import { readAllowedPaths } from '../../server/delegated/allowed-paths.ts';
import type { DelegatedAccessConfig } from '../../server/delegated/delegated-access.ts';
import type { StatusEndpointConfig } from '../../server/delegated/status-endpoint.ts';
import { listenerHosts } from '../../server/wiring/addresses.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { pemOf, servingConfig } from '../commands/serving-certificate.ts';
import { UsageError } from '../usage-error.ts';
import { named, readBundle, readBytes } from './flag-files.ts';
import { duration, type FlagValues, file, integer, ipAddress, list } from './flags.ts';
import { readTls, tlsFlags } from './tls-flags.ts';

const { 'goaway-chance': _notPublished, ...tls } = tlsFlags;

const reviewCacheMs = 10_000;

/** Port of kube-controller-manager. */
const controllerManagerPort = 10_257;

/** Flags of the port with health and metrics of a program beside the API server. */
export const statusEndpointFlags = {
  ...tls,
  'authentication-kubeconfig': file({
    help: 'connection file of the API server that says whose bearer tokens those are that callers of our port show',
    defaultText: 'callers are known by certificates only',
  }),
  'authentication-token-webhook-cache-ttl': duration({
    default: reviewCacheMs,
    defaultText: '10s',
    help: 'how long its answers are kept',
  }),
  'authorization-always-allow-paths': list({
    default: ['/healthz', '/readyz', '/livez'],
    help: 'paths of our port that everybody may see; * at the end: all that begin so',
  }),
  'authorization-kubeconfig': file({
    help: 'connection file of the API server that says what callers of our port may see',
    defaultText: 'those of system:masters see all, others what everybody may',
  }),
  'authorization-webhook-cache-authorized-ttl': duration({
    default: reviewCacheMs,
    defaultText: '10s',
    help: 'how long it is remembered that a caller may',
  }),
  'authorization-webhook-cache-unauthorized-ttl': duration({
    default: reviewCacheMs,
    defaultText: '10s',
    help: 'how long it is remembered that a caller may not',
  }),
  'bind-address': ipAddress({ default: '0.0.0.0', help: 'the address of our port; 0.0.0.0 or :: for all' }),
  'cert-dir': file({
    help: 'folder of a certificate that is made where no --tls-cert-file is given',
    defaultText: 'it is kept in memory, and is another one after each start',
  }),
  'client-ca-file': file({
    help: 'authorities (PEM) whose client certificates identify callers of our port; read again when it changes',
  }),
  'secure-port': integer({
    min: 0,
    max: 65_535,
    default: controllerManagerPort,
    help: 'port with health and metrics (HTTPS); 0: none',
  }),
} as const;

type Values = FlagValues<typeof statusEndpointFlags> & { readonly dialect: (typeof dialectNames)[number] };

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Undefined if no port is wanted. Throws a UsageError. `program` is the name that a self-made certificate has. */
export function readStatusEndpoint(
  values: Values,
  program: string,
  context: Context,
): StatusEndpointConfig | undefined {
  const port = values['secure-port'];
  if (port === 0) return undefined;
  return {
    listen: { address: values['bind-address'], port },
    tls: readTls({ ...values, 'goaway-chance': 0 }, context),
    ...readServing(values, program, context),
    access: readAccess(values),
  };
}

type Serving = Pick<ServerConfig, 'serving' | 'followServing'>;

function readServing(values: Values, program: string, context: Context): Serving {
  const { 'tls-cert-file': certificate, 'tls-private-key-file': key, 'cert-dir': directory } = values;
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-private-key-file must be given together');
  }
  if (certificate !== undefined && key !== undefined) {
    const files = { certificate, key };
    return servingConfig({ files, read: () => named('tls-cert-file', () => readKeyPair(files)) }, context);
  }
  const hosts = listenerHosts(values['bind-address']);
  const purpose = { subject: { commonName: program }, use: 'serverAuth', hosts } as const;
  const pki = { clock: context.clock, random: systemRandom };
  if (directory === undefined) return { serving: pemOf(makeSelfSigned(purpose, pki)) };
  makePrivateDirectory(directory);
  const files = { certificate: join(directory, `${program}.crt`), key: join(directory, `${program}.key`) };
  return servingConfig({ files, read: () => ensureSelfSigned(files, purpose, pki) }, context);
}

function readAccess(values: Values): DelegatedAccessConfig {
  const clientAuthorities = values['client-ca-file'];
  if (clientAuthorities !== undefined) readBundle('client-ca-file', clientAuthorities);
  const connection = (flag: 'authentication-kubeconfig' | 'authorization-kubeconfig'): string | undefined => {
    const path = values[flag];
    if (path !== undefined) named(flag, () => readKubeconfig(path, dialects[values.dialect], systemFiles));
    return path;
  };
  const tokenReviews = connection('authentication-kubeconfig');
  const accessReviews = connection('authorization-kubeconfig');
  return {
    clientAuthorities:
      clientAuthorities === undefined
        ? undefined
        : {
            fixed: [],
            file: { path: clientAuthorities, content: named('client-ca-file', () => readBytes(clientAuthorities)) },
          },
    tokenReviews:
      tokenReviews === undefined
        ? undefined
        : { file: tokenReviews, cacheMs: values['authentication-token-webhook-cache-ttl'] },
    accessReviews:
      accessReviews === undefined
        ? undefined
        : {
            file: accessReviews,
            authorizedMs: values['authorization-webhook-cache-authorized-ttl'],
            unauthorizedMs: values['authorization-webhook-cache-unauthorized-ttl'],
          },
    alwaysAllowed: named('authorization-always-allow-paths', () =>
      readAllowedPaths(values['authorization-always-allow-paths']),
    ),
  };
}
