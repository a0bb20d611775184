import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Says whose share the request counts against, and how important it is; refuses, with 429, who has too much under way. */
export const flow = ({ flowControl }: Pick<PipelineParts, 'flowControl'>): Stage => ({
  name: 'flow',
  run(context) {
    context.ticket = flowControl.admit(context);
  },
});
