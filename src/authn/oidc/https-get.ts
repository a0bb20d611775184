import type { Clock } from '../../base/time/clock.ts';
import type { HttpsConnections } from '../../outbound/network.ts';

interface HttpsGetOptions {
  readonly connections: HttpsConnections;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * GETs a URL and returns the body. Anything but a complete response with status 200 is an error. Redirects are not
 * followed, because they could lead to hosts that nobody configured; userinfo in the URL is not sent. Rejects with an
 * Error that names the URL without its query and contains no response data.
 */
export async function httpsGet(url: URL, options: HttpsGetOptions): Promise<Buffer> {
  const { clock, timeoutMs, signal } = options;
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () => late.abort(new Error(`no answer in ${timeoutMs} ms`)));
  const stop = (): void => {
    timer.close();
    late.abort(new Error('no longer wanted'));
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await fetchBody(url, options, late.signal);
  } catch (error) {
    const { message } = (late.signal.aborted ? late.signal.reason : error) as Error;
    throw new Error(`${url.origin}${url.pathname}: ${message}`);
  } finally {
    timer.close();
    signal.removeEventListener('abort', stop);
  }
}

async function fetchBody(
  url: URL,
  { connections, bytesMax, headers }: HttpsGetOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  const target = url.pathname + url.search;
  const { status, body, discard } = await connections.send({
    ...{ method: 'GET', server: url, target, headers, signal },
    repeatable: false,
  });
  if (status !== 200) {
    discard();
    throw new Error(`status ${status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop closes the response.
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
