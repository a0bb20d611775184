import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Hands the request to who answers it: a verb of the registry, or a path's own handler. */
export const dispatch = ({ answer }: PipelineParts): Stage => ({
  name: 'dispatch',
  run(context) {
    if (context.unreadable !== undefined) throw context.unreadable;
    return answer(context);
  },
});
