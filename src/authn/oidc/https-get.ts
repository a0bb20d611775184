import https from 'node:https';
import type { Clock } from '../../base/clock.ts';

interface HttpsGetOptions {
  readonly agent: https.Agent;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The body of what stands at an address. Anything but a complete answer with status 200 is an error: redirects are not
 * followed, since they would lead where nobody has configured anything; user and password of the address are not sent.
 * Rejects with an Error that names the address without its query, and nothing of what came.
 */
export function httpsGet(url: URL, options: HttpsGetOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const end = (): void => {
    timer.close();
    options.signal.removeEventListener('abort', stop);
  };
  const fail = (problem: string): void => {
    end();
    reject(new Error(`${url.origin}${url.pathname}: ${problem}`));
    request.destroy();
  };
  const request = https.get({
    agent: options.agent,
    // Brackets around IPv6 addresses belong to URLs.
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path: url.pathname + url.search,
    headers: options.headers,
  });
  const timer = options.clock.after(options.timeoutMs, () => fail(`no answer in ${options.timeoutMs} ms`));
  const stop = (): void => fail('no longer wanted');
  options.signal.addEventListener('abort', stop, { once: true });
  if (options.signal.aborted) stop();
  request.on('error', ({ message }) => fail(message));
  request.on('response', (response) => {
    response.on('error', ({ message }) => fail(message));
    if (response.statusCode !== 200) return fail(`status ${response.statusCode}`);
    const chunks: Buffer[] = [];
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > options.bytesMax) return fail(`the answer has more than ${options.bytesMax} bytes`);
      chunks.push(chunk);
    });
    response.on('end', () => {
      end();
      resolve(Buffer.concat(chunks));
    });
  });
  return promise;
}
