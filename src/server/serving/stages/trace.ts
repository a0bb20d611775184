import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Decides whether a request is traced that names no trace. Left out of the pipeline without a tracer. */
export const trace = ({ tracer }: Pick<PipelineParts, 'tracer'>): readonly Stage[] =>
  tracer ? [{ name: 'trace', run: (context) => tracer.receive(context) }] : [];

/** Decides about a request that names one, now that its sender is known. */
export const traceIdentified = ({ tracer }: Pick<PipelineParts, 'tracer'>): readonly Stage[] =>
  tracer ? [{ name: 'traceIdentified', run: (context) => tracer.identify(context) }] : [];
