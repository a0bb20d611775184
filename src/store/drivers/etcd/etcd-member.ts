import { checkServerIdentity } from 'node:tls';
import { Client, type ClientOptions, credentials } from '@grpc/grpc-js';
import { ipVersion } from '../../../base/ip-version.ts';
import { limits } from '../../../base/limits.ts';
import { EtcdSecureContext } from './etcd-tls.ts';

/** One endpoint of the cluster. */
export interface EtcdMember {
  /** As configured; identifies the member in messages. */
  readonly endpoint: string;
  /** A client with its own connection, established at its first call. */
  connect(): Client;
}

/**
 * Parses `https://host:port`, `http://host:port`, `unix:///path` (as kine listens, without TLS), or `host:port`, which uses TLS if
 * and only if `tls` is given; TLS without it trusts the system's certificate authorities. Throws RangeError for anything else.
 */
export const etcdMember = (endpoint: string, tls: EtcdSecureContext | undefined): EtcdMember => {
  const url = endpoint.includes('://') ? endpoint : `${tls ? 'https' : 'http'}://${endpoint}`;
  if (socketPattern.test(url)) {
    if (tls) throw new RangeError(`etcd endpoint ${endpoint} is without TLS, although TLS files are given`);
    return { endpoint, connect: () => new Client(url, credentials.createInsecure(), channelOptions) };
  }
  const { scheme = '', host = '', port = '' } = endpointPattern.exec(url)?.groups ?? {};
  if (host === '') throw new RangeError(`etcd endpoint must be like https://host:2379: ${endpoint}`);
  const address = `${host}:${port}`;
  if (scheme === 'https') {
    const name = host.replace(/^\[(.*)\]$/, '$1');
    const secure = credentials.createFromSecureContext(tls ?? new EtcdSecureContext({}), {
      checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
    });
    return { endpoint, connect: () => new Client(address, secure, { ...channelOptions, ...tlsOptions(name) }) };
  }
  if (tls) throw new RangeError(`etcd endpoint ${endpoint} is without TLS, although TLS files are given`);
  return { endpoint, connect: () => new Client(address, credentials.createInsecure(), channelOptions) };
};

const endpointPattern = /^(?<scheme>https?):\/\/(?<host>\[[0-9a-f:.]+\]|[^\s/:[\]@?#]+):(?<port>\d{1,5})\/?$/i;

const socketPattern = /^unix:\/\/\/[^?#]+$/;

const channelOptions: ClientOptions = {
  'grpc.max_receive_message_length': limits.etcdMessageBytesMax,
  'grpc.max_send_message_length': limits.etcdMessageBytesMax,
  // etcd closes connections that ping more often than every 5 s (--grpc-keepalive-min-time): see `MemberConnection`.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': limits.etcdBackoffMsMax,
  // A service config in a DNS record must not enable retries of writes.
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
};

/**
 * TLS has no server name for an IP address (RFC 6066 section 3) and Node refuses one, but gRPC always sends the host it
 * connects to. For an address, gRPC therefore gets a name that no certificate has; the certificate is verified against
 * the address.
 */
const tlsOptions = (name: string): ClientOptions =>
  ipVersion(name) === 0 ? {} : { 'grpc.ssl_target_name_override': 'etcd.invalid' };
