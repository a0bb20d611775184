import { limits } from '../base/limits.ts';
import { badRequest, methodNotAllowed, StatusError } from '../meta/status-error.ts';

/** Path and query of a request target, or why it is refused. */
type Target =
  | { readonly target: string; readonly refused?: undefined }
  | { readonly target: string; readonly refused: StatusError };

/**
 * Normalizes the forms of a request target (RFC 9112 section 3.2) to path and query. The authority of an absolute
 * form is dropped: the server answers for every host name. CONNECT is refused: the server opens no tunnels.
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
