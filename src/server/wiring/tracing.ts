import { RequestTracer } from '../serving/tracing/request-tracer.ts';
import type { Basis } from './basis.ts';
import type { ApiServerConfig } from './config.ts';

/** Opens what records traces, if they are configured. It closes after everything that has spans. */
export async function openTracing(
  { tracing }: Pick<ApiServerConfig, 'tracing'>,
  basis: Basis,
): Promise<RequestTracer | undefined> {
  if (!tracing) return undefined;
  const { environment, random, shutdown } = basis;
  const { endpoint, samplingRatePerMillion } = tracing;
  const tracer = await environment.openTracer(endpoint, basis);
  shutdown.add('traces', () => tracer.close());
  return new RequestTracer({ tracer, samplingRatePerMillion, random });
}
