import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Runs the handler of the request: a registry verb or a path's own handler. */
export const answer = ({ answer: send }: Pick<PipelineParts, 'answer'>): Stage => ({
  name: 'answer',
  run: (context) => context.operation && send(context, context.operation),
});
