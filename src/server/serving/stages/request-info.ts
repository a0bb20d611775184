import { parseRequestInfo } from '../../../request/request-info.ts';
import type { Stage } from '../request-context.ts';

const noQuery = new URLSearchParams();

/**
 * Parses method and path. A malformed request continues as a request for its raw path and is refused last, so that a
 * client that is not authenticated or not allowed learns nothing about how the server parses paths.
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
    if (context.info.type === 'path') context.exchange.local = true;
  },
});
