import type { IncomingMessage } from 'node:http';
import { badRequest, type StatusError } from '../meta/status-error.ts';

/** Characters of a host with its port (RFC 3986 section 3.2.2). */
const host = /^[\w.~!$&'()*+,;=:%[\]-]*$/;

/** Whether a text can be a host with its port; an empty one can. */
export const isHost = (text: string): boolean => host.test(text);

/**
 * Why a request of HTTP/1.1 is refused for a field that must stand in it once: two readers could take it for a request to
 * two different servers (`Host`, RFC 9112 section 3.2), or of two different senders (`Authorization`).
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
