import type { Random } from '../../../base/random.ts';
import type { ListenOptions } from '../../../http/listener.ts';
import { connects, parseRequestInfo } from '../../../request/request-info.ts';
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

/** Watches may be upgraded to WebSockets; what connects to another server also to what that speaks. */
export function mayUpgrade(target: string, protocol: string): boolean {
  try {
    const info = parseRequestInfo('GET', target);
    return connects(info) || (protocol === 'websocket' && info.verb === 'watch');
  } catch {
    return false; // Malformed: the pipeline answers with the reason.
  }
}
