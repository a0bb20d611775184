import { type Flag, optionalText, text } from './flags.ts';
import { forms, type PublishedFlags } from './published-flags.ts';

const { duration, integer, switch: onOff, text: anyText, unsigned } = forms;

/** Comma-separated URLs; the last of several flags counts, as in etcd. */
const urls = (flag: Flag<string | undefined>) => ({ ...flag, placeholder: 'URL,...' });

/** The flags of etcd that what stands in for it obeys. */
export const etcdFlags = {
  'listen-client-urls': {
    ...text({ default: 'http://localhost:2379', help: 'where to listen for API servers and for who asks for health' }),
    placeholder: 'URL,...',
  },
  'listen-metrics-urls': urls(optionalText({ help: 'further addresses to listen on' })),
};

type Forms = PublishedFlags['ignored'][number]['flags'];
const all = (form: Forms[string], names: string): Forms =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, form]),
  );

/** The other flags of etcd 3.5. */
export const etcdPublishedFlags: PublishedFlags = {
  ignored: [
    {
      because: 'data is in memory, for as long as the program runs',
      flags: {
        ...all(anyText, 'auto-compaction-mode auto-compaction-retention backend-bbolt-freelist-type data-dir wal-dir'),
        ...all(integer, 'backend-batch-limit quota-backend-bytes snapshot-count'),
        ...all(integer, 'experimental-compaction-batch-limit experimental-snapshot-catchup-entries'),
        ...all(unsigned, 'experimental-bootstrap-defrag-threshold-megabytes max-request-bytes max-snapshots'),
        ...all(unsigned, 'max-txn-ops max-wals'),
        ...all(duration, 'backend-batch-interval experimental-compaction-sleep-interval'),
        ...all(duration, 'experimental-compact-hash-check-time experimental-corrupt-check-time'),
        ...all(onOff, 'experimental-compact-hash-check-enabled experimental-initial-corrupt-check'),
        ...all(onOff, 'experimental-memory-mlock experimental-stop-grpc-service-on-defrag'),
        ...all(onOff, 'experimental-txn-mode-write-with-shared-buffer unsafe-no-fsync'),
      },
    },
    {
      because: 'there is one member and nobody else to agree with',
      flags: {
        ...all(anyText, 'advertise-client-urls discovery discovery-fallback discovery-proxy discovery-srv'),
        ...all(anyText, 'discovery-srv-name initial-advertise-peer-urls initial-cluster initial-cluster-state'),
        ...all(anyText, 'initial-cluster-token listen-peer-urls name proxy v2-deprecation experimental-enable-v2v3'),
        ...all(unsigned, 'election-timeout heartbeat-interval proxy-dial-timeout proxy-failure-wait'),
        ...all(unsigned, 'proxy-read-timeout proxy-refresh-interval proxy-write-timeout'),
        ...all(duration, 'experimental-downgrade-check-time raft-read-timeout raft-write-timeout'),
        ...all(onOff, 'enable-v2 experimental-enable-lease-checkpoint experimental-enable-lease-checkpoint-persist'),
        ...all(onOff, 'force-new-cluster initial-election-tick-advance pre-vote strict-reconfig-check'),
      },
    },
    {
      because: 'plain HTTP is spoken to programs of this machine alone',
      flags: {
        ...all(anyText, 'auth-token cert-file cipher-suites client-cert-allowed-hostname client-cert-file cors'),
        ...all(anyText, 'client-crl-file client-key-file host-whitelist key-file peer-cert-allowed-cn'),
        ...all(anyText, 'peer-cert-allowed-hostname peer-cert-file peer-client-cert-file peer-client-key-file'),
        ...all(anyText, 'peer-crl-file peer-key-file peer-trusted-ca-file tls-max-version tls-min-version'),
        ...all(anyText, 'trusted-ca-file'),
        ...all(unsigned, 'auth-token-ttl bcrypt-cost self-signed-cert-validity'),
        ...all(onOff, 'auto-tls client-cert-auth experimental-peer-skip-client-san-verification peer-auto-tls'),
        ...all(onOff, 'peer-client-cert-auth'),
      },
    },
    {
      because: 'there is nothing here that it could change',
      flags: {
        ...all(
          anyText,
          'config-file experimental-distributed-tracing-address experimental-distributed-tracing-instance-id',
        ),
        ...all(anyText, 'experimental-distributed-tracing-service-name log-level log-outputs log-rotation-config-json'),
        ...all(anyText, 'logger metrics'),
        ...all(integer, 'experimental-distributed-tracing-sampling-rate'),
        ...all(unsigned, 'max-concurrent-streams'),
        ...all(duration, 'experimental-warning-apply-duration experimental-watch-progress-notify-interval'),
        ...all(duration, 'grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout'),
        ...all(onOff, 'enable-grpc-gateway enable-log-rotation enable-pprof experimental-enable-distributed-tracing'),
        ...all(onOff, 'socket-reuse-address socket-reuse-port'),
      },
    },
  ],
  refused: [],
};
