import type { IncomingMessage } from 'node:http';
import { badRequest, type StatusError } from '../meta/status-error.ts';

/** Characters of a host with an optional port (RFC 3986 section 3.2.2). */
const host = /^[\w.~!$&'()*+,;=:%[\]-]*$/;

/** Whether a text is a valid host with an optional port; empty is valid. */
export const isHost = (text: string): boolean => host.test(text);

/**
 * Refuses an HTTP/1.1 request that repeats a field that may occur only once: two readers could attribute it to
 * different servers (`Host`, RFC 9112 section 3.2) or different users (`Authorization`).
 */
export function refuseAmbiguous({ httpVersion, rawHeaders }: IncomingMessage): StatusError | undefined {
  let hosts = 0;
  let credentials = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === authorization.length) credentials += name.toLowerCase() === authorization ? 1 : 0;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    hosts += 1;
    if (!isHost(rawHeaders[at + 1] ?? '')) return badRequest('header Host is not a host');
  }
  if (hosts > 1) return badRequest(`the request has ${hosts} Host headers: there must be one`);
  if (credentials > 1) return badRequest(`the request has ${credentials} Authorization headers: there must be one`);
  return hosts === 0 && httpVersion === '1.1' ? badRequest('the request has no Host header') : undefined;
}

const authorization = 'authorization';
