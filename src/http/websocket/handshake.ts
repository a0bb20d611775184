import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { badRequest, StatusError } from '../../meta/status-error.ts';
import type { Headers } from '../exchange.ts';

/** The server's side of the opening handshake (RFC 6455 section 4.2). */

/**
 * The protocol, in lower case, that a request asks to upgrade to. Undefined for one that asks ambiguously or for an unknown one,
 * or has a body: it is served as an ordinary request, which every server may do (RFC 9110 section 7.8). Others than these
 * are not passed on to anybody: by `h2c`, a client could send requests that nobody authorizes.
 */
export function askedProtocol({ method, httpVersion, headers }: IncomingMessage): string | undefined {
  const protocol = headers.upgrade?.toLowerCase() ?? '';
  if (httpVersion !== '1.1' || !(protocols[protocol] ?? []).includes(method ?? '')) return undefined;
  const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
  return isEmpty ? protocol : undefined;
}

/** The methods of each. */
const protocols: Readonly<Record<string, readonly string[]>> = {
  websocket: ['GET'],
  'spdy/3.1': ['GET', 'POST'],
};

/** The response head that upgrades to any protocol, with headers of whoever speaks it. */
export function switchingResponse(protocol: string, headers: Headers, added: readonly string[] = []): string {
  const lines = ['HTTP/1.1 101 Switching Protocols', `upgrade: ${protocol}`, 'connection: Upgrade'];
  for (const [name, value] of Object.entries(headers)) {
    for (const line of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${line}`);
  }
  for (let at = 0; at < added.length; at += 2) lines.push(`${added[at]}: ${added[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Sixteen bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/;

/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The response head that opens the WebSocket, in bytes. `protocol` is the selected sub-protocol, one of those that
 * the client offered. `added` are further headers, alternating names and values. Throws a StatusError if the client's
 * handshake is invalid.
 */
export function openingResponse(
  { headers }: IncomingMessage,
  protocol: string | undefined,
  added: readonly string[] = [],
): string {
  if (headers['sec-websocket-version'] !== '13') {
    const message = 'only version 13 of WebSockets is spoken';
    throw new StatusError('BadRequest', message, { code: 426, headers: { 'sec-websocket-version': '13' } });
  }
  const key = headers['sec-websocket-key'] ?? '';
  if (!keyForm.test(key)) throw badRequest('header Sec-WebSocket-Key must be 16 bytes in base64');
  if (protocol !== undefined && !token.test(protocol))
    throw badRequest('header Sec-WebSocket-Protocol names no protocol');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: Upgrade'];
  lines.push(`sec-websocket-accept: ${acceptOf(key)}`);
  if (protocol !== undefined) lines.push(`sec-websocket-protocol: ${protocol}`);
  for (let at = 0; at < added.length; at += 2) lines.push(`${added[at]}: ${added[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The proof that the server understood the handshake as WebSocket (section 1.3). */
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
