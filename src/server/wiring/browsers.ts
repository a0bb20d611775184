import type { Random } from '../../base/random.ts';
import type { ListenOptions } from '../../http/listener.ts';
import { parseRequestInfo } from '../../request/request-info.ts';
import type { ApiServerConfig } from './config.ts';

export interface Browsers {
  readonly allowsOrigin: (origin: string) => boolean;
  /** Answers what browsers ask before they ask, and has the rest handled. */
  readonly answering: (handle: ListenOptions['handle']) => ListenOptions['handle'];
}

/** Pages of other origins. */
export async function forBrowsers(
  { allowedOrigins }: Pick<ApiServerConfig, 'allowedOrigins'>,
  random: Random,
): Promise<Browsers> {
  if (!allowedOrigins || allowedOrigins.length === 0) {
    return { allowsOrigin: () => false, answering: (handle) => handle };
  }
  // Loaded where it is used: the engine of expressions is part of every start otherwise.
  const { allowOrigins, originTest } = await import('../serving/cross-origin.ts');
  const allowsOrigin = originTest(allowedOrigins);
  return { allowsOrigin, answering: (handle) => allowOrigins(allowsOrigin, { handle, random }) };
}

/** Watches alone may be WebSockets. */
export function isWatch(target: string): boolean {
  try {
    return parseRequestInfo('GET', target).verb === 'watch';
  } catch {
    return false; // It cannot be read: the pipeline says why.
  }
}
