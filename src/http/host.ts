import type { IncomingMessage } from 'node:http';
import { badRequest, type StatusError } from '../meta/status-error.ts';

/** Characters of a host with its port (RFC 3986 section 3.2.2). */
const host = /^[\w.~!$&'()*+,;=:%[\]-]*$/;

/**
 * Why the `Host` of an HTTP/1.1 request refuses it (RFC 9112 section 3.2): there is none, or more than one line of it, or it
 * cannot be a host. Two readers could take such a request for two different servers' ones.
 */
export function refuseHost({ httpVersion, rawHeaders }: IncomingMessage): StatusError | undefined {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    lines += 1;
    if (!host.test(rawHeaders[at + 1] ?? '')) return badRequest('header Host is not a host');
  }
  if (lines > 1) return badRequest(`the request has ${lines} Host headers: there must be one`);
  return lines === 0 && httpVersion === '1.1' ? badRequest('the request has no Host header') : undefined;
}
