import { parseRequestInfo } from '../../request/request-info.ts';
import type { Stage } from '../request-context.ts';

/** Reads what the request is about from its method and path. */
export const requestInfo = (): Stage => ({
  name: 'requestInfo',
  run(context) {
    const { method, target } = context.exchange;
    context.info = parseRequestInfo(method, target);
  },
});
