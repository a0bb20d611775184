import { parseRequestInfo } from '../../../request/request-info.ts';
import type { Stage } from '../request-context.ts';

const noQuery = new URLSearchParams();

/**
 * Reads what the request is about from its method and path. One that cannot be read is answered last, as a request for its
 * path: who may not come in, or may not ask there, does not learn how the server reads paths.
 */
export const requestInfo = (): Stage => ({
  name: 'requestInfo',
  run(context) {
    const { method, target } = context.exchange;
    try {
      context.info = parseRequestInfo(method, target);
    } catch (error) {
      const [path = ''] = target.split('?', 1);
      context.info = { type: 'path', path, query: noQuery, verb: method.toLowerCase() };
      context.malformed = error;
    }
  },
});
