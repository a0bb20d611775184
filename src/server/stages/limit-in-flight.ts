import { StatusError } from '../../meta/status-error.ts';
import { isReadVerb } from '../../request/request-info.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Refuses what is too much at once, with 429 (design section 7). Watches and paths without objects are exempt. */
export function limitInFlight({ inFlightMax: max }: PipelineParts): Stage {
  const now = { reads: 0, writes: 0 };
  return {
    name: 'limitInFlight',
    run({ info, exchange }: RequestContext) {
      if (info.type === 'path' || info.verb === 'watch') return;
      const lane = isReadVerb(info.verb) ? 'reads' : 'writes';
      if (now[lane] >= max[lane]) throw tooManyRequests();
      now[lane]++;
      exchange.onEnd(() => {
        now[lane]--;
      });
    },
  };
}

const tooManyRequests = (): StatusError =>
  new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  });
