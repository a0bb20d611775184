import { type Metrics, metricsMediaType } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { Exchange } from '../../http/exchange.ts';
import { sendBytes } from '../../http/respond.ts';
import type { PathRouter } from '../../http/router.ts';
import { noSuchPath } from '../../meta/status-error.ts';
import type { HealthChecks } from '../upkeep/health-checks.ts';

/** Pages for monitoring: health and metrics, of a server or of another program. */

type Answering = Pick<HealthChecks, 'answer' | 'metrics'>;

interface HealthParts {
  readonly health: Answering;
  readonly clock: Clock;
}

/** Health endpoints, and the results of their checks as metrics. */
export function routeHealth(router: PathRouter, { health, clock }: HealthParts): void {
  const answer = async (exchange: Exchange, path: string): Promise<void> => {
    const found = await health.answer(path, queryOf(exchange));
    if (!found) throw noSuchPath();
    sendText(exchange, 'text/plain; charset=utf-8', found.body, found.status);
  };
  for (const endpoint of ['/healthz', '/livez', '/readyz']) {
    router.exact(endpoint, ['GET'], answer).prefix(`${endpoint}/`, ['GET'], answer);
  }
  router.exact('/metrics/slis', ['GET'], (exchange) => sendMetrics(exchange, { metrics: health.metrics, clock }));
}

export function queryOf({ target }: Exchange): URLSearchParams {
  const mark = target.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
}

/** Sends all metrics, as all servers of the process have counted. Renders in time slices, since there may be thousands of series. */
export async function sendMetrics(
  exchange: Exchange,
  { metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock },
): Promise<void> {
  const [states] = await Promise.all([metrics.states(), metrics.refresh()]);
  const slice = new TimeSlice(clock);
  const pieces: string[] = [];
  for (const piece of metrics.pieces(states)) {
    pieces.push(piece);
    if (slice.over) await slice.next();
  }
  if (exchange.responded) return;
  // gzip whatever the feature gate says, as published servers do: the page is no answer of the API.
  return sendBytes(exchange, {
    status: 200,
    contentType: metricsMediaType,
    body: Buffer.from(pieces.join('')),
    compress: true,
  });
}

function sendText(exchange: Exchange, contentType: string, body: string, status = 200): void {
  sendBytes(exchange, { status, contentType, body: Buffer.from(body) });
}
