import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Receives the body of a request that has one. */
export const body = ({ flowControl: { bodies } }: Pick<PipelineParts, 'flowControl'>): Stage => ({
  name: 'body',
  run({ operation, ticket }) {
    if (!ticket || operation?.type !== 'resource' || !operation.form) return undefined;
    return bodies.receive(ticket).then((received) => {
      ticket.body = received;
      ticket.bodyBytes = received.bytes.length;
    });
  },
});
