import type { ApiObject } from '../../../meta/api-object.ts';
import { always, type Infer } from '../../../schema/schema.ts';
import { kindSchema } from '../../meta/kind-schema.ts';
import { typed } from '../../typed.ts';
import { podSpec } from './pod-spec.ts';
import { podStatus } from './pod-status.ts';

/** The complete Pod of Kubernetes 1.32. Constant defaults are in the schema, others in `pod-defaults.ts`. */
export const podSchema = kindSchema('api.core.v1.Pod', 'A group of containers that run together on one node.', {
  spec: always(2, podSpec, 'What is asked for.'),
  status: always(3, podStatus, 'What was last observed; written through the `status` subresource.'),
});

export type Pod = Infer<typeof podSchema>;

/** Casts a decoded pod to its static type. */
export const asPod = (object: ApiObject): Pod => typed(podSchema, object);
