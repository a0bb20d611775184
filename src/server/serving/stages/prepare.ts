import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Finds the handler of the request. Errors that do not depend on the body are thrown before it is received. */
export const prepare = ({ prepare: find }: Pick<PipelineParts, 'prepare'>): Stage => ({
  name: 'prepare',
  run(context) {
    if (context.malformed !== undefined) throw context.malformed;
    context.operation = find(context);
  },
});
