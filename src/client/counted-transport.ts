import type { Counter, Histogram, Metrics } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClientRequest, Transport } from '../outbound/transport.ts';

interface RequestMetrics {
  readonly clock: Clock;
  readonly total: Counter<'code' | 'host' | 'method'>;
  readonly durations: Histogram<'verb' | 'host'>;
  readonly requestSizes: Histogram<'verb' | 'host'>;
  readonly responseSizes: Histogram<'verb' | 'host'>;
}

const sizes = [64, 256, 512, ...Array.from({ length: 8 }, (_, power) => 1024 * 4 ** power)];

/** Metrics of the requests of clients, under the names of client-go. */
export function requestMetrics(metrics: Metrics, clock: Clock): RequestMetrics {
  const labels = ['verb', 'host'] as const;
  return {
    clock,
    total: metrics.counter({
      name: 'rest_client_requests_total',
      help: 'Requests to the API server, by status code, method and host; <error> if there was no answer.',
      labels: ['code', 'host', 'method'],
    }),
    durations: metrics.histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Time until the headers of the answer to a request, or until it failed.',
      labels,
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    }),
    requestSizes: metrics.histogram({
      name: 'rest_client_request_size_bytes',
      help: 'Bytes of the bodies of requests.',
      labels,
      buckets: sizes,
    }),
    responseSizes: metrics.histogram({
      name: 'rest_client_response_size_bytes',
      help: 'Bytes of the bodies of answers, as far as they were read.',
      labels,
      buckets: sizes,
    }),
  };
}

/** A transport whose requests are measured. */
export function countedTransport(transport: Transport, host: string, metrics: RequestMetrics): Transport {
  const { clock, total, durations, requestSizes, responseSizes } = metrics;
  return {
    async send(request) {
      const sinceMs = clock.monotonic();
      const labels = { verb: request.method, host };
      requestSizes.observe(labels, bytesOf(request));
      let code = '<error>';
      try {
        const { status, body } = await transport.send(request);
        code = String(status);
        return { status, body: measured(body, (bytes) => responseSizes.observe(labels, bytes)) };
      } finally {
        total.add({ code, host, method: request.method });
        durations.observe(labels, (clock.monotonic() - sinceMs) / 1000);
      }
    },
  };
}

const bytesOf = ({ body }: ClientRequest): number =>
  body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length;

async function* measured(body: AsyncIterable<Uint8Array>, done: (bytes: number) => void): AsyncIterable<Uint8Array> {
  let bytes = 0;
  try {
    for await (const part of body) {
      bytes += part.length;
      yield part;
    }
  } finally {
    done(bytes);
  }
}
