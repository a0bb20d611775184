import { limits } from '../../base/limits.ts';
import { badRequest } from '../../meta/status-error.ts';
import { parseRequestInfo } from '../../request/request-info.ts';
import type { Stage } from '../request-context.ts';

/** Reads what the request is about from its method and path. */
export const requestInfo = (): Stage => ({
  name: 'requestInfo',
  run(context) {
    const { method, target } = context.exchange;
    if (target.length > limits.targetBytesMax)
      throw badRequest(`the path and query are longer than ${limits.targetBytesMax} characters`);
    context.info = parseRequestInfo(method, target);
  },
});
