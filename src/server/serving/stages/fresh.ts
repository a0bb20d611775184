import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Waits until this server knows what was acknowledged before the request came, by other servers too: permissions, namespaces,
 * definitions and the read itself are then at least that new. One look at the head of the store for all of them, which requests
 * that come at the same time share.
 */
export const fresh = ({ upToDate }: Pick<PipelineParts, 'upToDate'>): Stage => ({
  name: 'fresh',
  run: (context: RequestContext) => upToDate(context),
});
