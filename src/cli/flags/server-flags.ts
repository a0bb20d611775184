import { availableParallelism } from 'node:os';
import { limits } from '../../base/limits.ts';
import { dialectNames } from '../../dialect/dialects.ts';
import type { ExternalAddress } from '../../server/wiring/config.ts';
import { parseExternalAddress } from '../addresses.ts';
import { admissionFlags } from './admission-flags.ts';
import { agentFlags } from './agent-flags.ts';
import { auditFlags } from './audit-flags.ts';
import { authenticationFlags } from './authentication-flags.ts';
import { authorizationFlags } from './authorization-flags.ts';
import { browserFlags } from './browser-flags.ts';
import { etcdClientFlags } from './etcd-client-flags.ts';
import { featureGateFlag } from './feature-gate-flag.ts';
import {
  boolean,
  choice,
  duration,
  type Flag,
  type FlagValues,
  file,
  integer,
  ipAddress,
  optionalIpAddress,
  optionalText,
  text,
} from './flags.ts';
import { loggingFlags } from './logging-flags.ts';
import { metricsFlags } from './metrics-flags.ts';
import { requestFlags } from './request-flags.ts';
import { runtimeConfigFlag } from './runtime-config-flag.ts';
import { serviceFlags } from './service-flags.ts';
import { tlsFlags } from './tls-flags.ts';

const externalHostname: Flag<ExternalAddress | undefined> = {
  ...optionalText({
    placeholder: 'HOST[:PORT]',
    help: 'the name that documents for clients give this server, and that generated certificates have too',
    defaultText: '--advertise-address',
  }),
  default: undefined,
  parse(value) {
    const address = parseExternalAddress(value);
    if (!address) throw new Error(`${JSON.stringify(value)} is no host name or address`);
    return address;
  },
};

/** The flags of every command that starts a server. Names not given by the spec are those of kube-apiserver 1.32. */
/** One core is left to the data file, large requests and other programs. */
const threadsByDefault = Math.min(Math.max(1, availableParallelism() - 1), limits.servingThreadsDefaultMax);

export const serverFlags = {
  ...admissionFlags,
  ...agentFlags,
  ...auditFlags,
  ...authenticationFlags,
  ...authorizationFlags,
  ...browserFlags,
  ...loggingFlags,
  ...metricsFlags,
  ...requestFlags,
  ...serviceFlags,
  ...tlsFlags,
  'advertise-address': optionalIpAddress({
    help: 'the address that discovery tells clients, and that generated certificates have too',
    defaultText: 'the bind address; where that is all, the first of this machine',
  }),
  'bind-address': ipAddress({ default: '127.0.0.1', help: 'the address to listen on; 0.0.0.0 or :: for all' }),
  'cert-dir': optionalText({
    placeholder: 'DIR',
    help: 'where keys and certificates are kept that the server makes itself',
    defaultText: '<data-dir>/pki',
  }),
  'data-dir': text({
    placeholder: 'DIR',
    default: './.orch',
    help: 'where the server keeps what no other flag places',
  }),
  dialect: choice({ of: dialectNames, default: 'orch', help: 'the names that the API carries' }),
  'encryption-provider-config': file({
    help: 'an EncryptionConfiguration: how objects are encrypted in the store, and by which keys; without it they are not',
  }),
  'encryption-provider-config-automatic-reload': boolean({
    default: false,
    help: 'follow changes of --encryption-provider-config',
  }),
  ...etcdClientFlags,
  'event-ttl': duration({
    default: 3600_000,
    defaultText: '1h0m0s',
    max: Number.MAX_SAFE_INTEGER,
    help: 'how long events stay after they were last written; 0 for ever',
  }),
  'external-hostname': externalHostname,
  'feature-gates': featureGateFlag,
  'livez-grace-period': duration({
    default: 0,
    defaultText: '0s',
    help: 'how long /livez succeeds although the start has not ended',
  }),
  'runtime-config': runtimeConfigFlag,
  'secure-port': integer({ min: 0, max: 65_535, default: 6443, help: 'the port to listen on; 0 picks a free one' }),
  'serving-threads': integer({
    min: 1,
    max: limits.servingThreadsMax,
    default: threadsByDefault,
    defaultText: `the processor cores but one, at most ${limits.servingThreadsDefaultMax}`,
    help: 'threads that serve requests, each with a server of its own on the same port',
  }),
  'shutdown-delay-duration': duration({
    default: 0,
    defaultText: '0s',
    help: 'how long requests are still served after a signal to stop, while /readyz already fails',
  }),
  'sqlite-file': file({ help: 'the database', defaultText: '<data-dir>/orch.db' }),
  'storage-backend': choice({
    of: ['', 'sqlite', 'etcd3'],
    placeholder: 'sqlite|etcd3',
    default: '',
    defaultText: 'etcd3 with --etcd-servers, otherwise sqlite',
    help: 'where objects are kept',
  }),
  'tracing-config-file': file({
    help: 'a TracingConfiguration: where traces of requests go, and of how many; without it there are none',
  }),
} as const;

export type ServerFlagValues = FlagValues<typeof serverFlags>;

/** The number of threads that serve. */
export const servingThreads = (values: ServerFlagValues): number => values['serving-threads'];
