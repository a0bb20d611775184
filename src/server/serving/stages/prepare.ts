import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Finds out how the request is answered. What is wrong with it is said without waiting for its body. */
export const prepare = ({ prepare: find }: Pick<PipelineParts, 'prepare'>): Stage => ({
  name: 'prepare',
  run(context) {
    if (context.malformed !== undefined) throw context.malformed;
    context.operation = find(context);
  },
});
