import type { Counter, Metrics } from '../base/metrics.ts';
import type { Transport } from '../outbound/transport.ts';

type RequestCounter = Counter<'code' | 'host' | 'method'>;

/** Counts the requests of clients, under the name of client-go. */
export const requestCounter = (metrics: Metrics): RequestCounter =>
  metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by status code, method and host; <error> if there was no answer.',
    labels: ['code', 'host', 'method'],
  });

/** A transport that counts its requests. */
export function countedTransport(transport: Transport, host: string, counter: RequestCounter): Transport {
  return {
    async send(request) {
      let code = '<error>';
      try {
        const response = await transport.send(request);
        code = String(response.status);
        return response;
      } finally {
        counter.add({ code, host, method: request.method });
      }
    },
  };
}
