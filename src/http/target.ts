import { limits } from '../base/limits.ts';
import { badRequest, methodNotAllowed, StatusError } from '../meta/status-error.ts';

/** What a request line or HTTP/2 header asks for: path and query, or why it is not served. */
type Target =
  | { readonly target: string; readonly refused?: undefined }
  | { readonly target: string; readonly refused: StatusError };

/**
 * Brings the forms of a request target (RFC 9112 section 3.2) to path and query. The authority of an absolute form is
 * dropped: this server answers for every name it is called by. CONNECT is refused: a tunnel is never opened.
 */
export function readTarget(method: string, sent: string): Target {
  if (sent.length > limits.targetBytesMax) {
    const message = `the target of the request is longer than ${limits.targetBytesMax} bytes`;
    return { target: '/', refused: new StatusError('BadRequest', message, { code: 414 }) };
  }
  if (method === 'CONNECT') return { target: '/', refused: methodNotAllowed('CONNECT is not supported', []) };
  if (sent.startsWith('/')) return { target: sent };
  const absolute = /^https?:\/\/[^/?#]*/i.exec(sent);
  if (!absolute) return { target: '/', refused: badRequest('the target of the request must begin with a slash') };
  const rest = sent.slice(absolute[0].length);
  return { target: rest.startsWith('/') ? rest : `/${rest}` };
}
