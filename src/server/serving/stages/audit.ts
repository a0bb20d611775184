import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Begins the audit record of a request, as its sender made it: before impersonation, whose refusal is recorded too. Left
 * out of the pipeline without a policy.
 */
export const audit = ({ auditor }: Pick<PipelineParts, 'auditor'>): readonly Stage[] =>
  auditor ? [{ name: 'audit', run: (context) => auditor.receive(context) }] : [];
