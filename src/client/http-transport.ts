import type { Closable } from '../base/disposable.ts';
import type { Files } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ConnectionConfig } from '../outbound/connection-config.ts';
import type { Credentials } from '../outbound/credentials/credentials.ts';
import type { PluginHost } from '../outbound/credentials/plugin-process.ts';
import { HttpsRequester } from '../outbound/https-requester.ts';
import type { Network } from '../outbound/network.ts';
import type { Transport } from '../outbound/transport.ts';

export interface HttpTransportOptions {
  readonly clock: Clock;
  readonly network: Network;
  readonly files: Files;
  readonly pluginHost: PluginHost;
  /** Replaces the credentials of the connection; closed with the transport. */
  readonly credentials?: Credentials;
  /** A response without data for this long counts as broken. Milliseconds. */
  readonly silenceMsMax?: number;
}

/** Transport to an API server over HTTPS; see `HttpsRequester` for its rules. */
export function httpTransport(connection: ConnectionConfig, options: HttpTransportOptions): Transport & Closable {
  const requester = new HttpsRequester({ silenceMsMax: limits.clientSilenceMsMax, ...options, connection });
  const root = connection.server.pathname.replace(/\/$/, '');
  return {
    async send(request) {
      const target = root + request.target;
      return requester.send({ ...request, target, repeatable: request.method === 'GET' });
    },
    close: () => requester.close(),
  };
}
