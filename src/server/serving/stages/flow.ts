import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Classifies the request: flow schema, priority level and tenant. Refuses with 429 if the tenant has too many requests
 * under way.
 */
export const flow = ({ flowControl }: Pick<PipelineParts, 'flowControl'>): Stage => ({
  name: 'flow',
  run(context) {
    context.ticket = flowControl.admit(context);
  },
});
