import type { Network } from '../network.ts';
import { Http1Connections } from './http1-connections.ts';
import { NegotiatedConnections } from './negotiated-connections.ts';
import { openConnection, resolveHost } from './single-connection.ts';

/** The machine's network: HTTP/1.1 and HTTP/2 over TLS, HTTP/1.1 without. Proxy settings of the environment are ignored. */
export const systemNetwork: Network = {
  connect: (options) =>
    options.http2 && !options.plain ? new NegotiatedConnections(options) : new Http1Connections(options),
  resolve: resolveHost,
  open: openConnection,
};
