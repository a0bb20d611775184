import type { Random } from '../../../base/random.ts';
import type { ListenOptions } from '../../../http/listener.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import type { ApiServerConfig } from '../config.ts';

export interface Cors {
  readonly allowsOrigin: (origin: string) => boolean;
  /** Wraps a handler so that CORS preflight requests are answered. */
  readonly wrap: (handle: ListenOptions['handle']) => ListenOptions['handle'];
}

/** CORS: requests of pages from other origins. */
export async function openCors(
  { allowedOrigins }: Pick<ApiServerConfig, 'allowedOrigins'>,
  random: Random,
): Promise<Cors> {
  if (!allowedOrigins || allowedOrigins.length === 0) {
    return { allowsOrigin: () => false, wrap: (handle) => handle };
  }
  // Loaded on demand: otherwise each start would load the regular expression engine.
  const { allowOrigins, originTest } = await import('../../serving/cross-origin.ts');
  const allowsOrigin = originTest(allowedOrigins);
  return { allowsOrigin, wrap: (handle) => allowOrigins(allowsOrigin, { handle, random }) };
}

/** Only watches may be upgraded to WebSockets. */
export function isWatch(target: string): boolean {
  try {
    return parseRequestInfo('GET', target).verb === 'watch';
  } catch {
    return false; // Malformed: the pipeline answers with the reason.
  }
}
