import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Has the request answered by who answers it: a verb of the registry, or a path's own handler. */
export const answer = ({ answer: send }: Pick<PipelineParts, 'answer'>): Stage => ({
  name: 'answer',
  run: (context) => context.operation && send(context, context.operation),
});
