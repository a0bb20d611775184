import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { ptr } from '../../../schema/schema.ts';
import type { ActionSubresource } from '../../kind.ts';
import { deleteOptions } from '../../meta/delete-options.ts';
import { kindSchema } from '../../meta/kind-schema.ts';
import { requireTargetName, success } from './action-answer.ts';

const schema = kindSchema('api.policy.v1.Eviction', 'Asks that a pod leaves its node, within the budgets set for it.', {
  deleteOptions: ptr(2, deleteOptions, 'How to delete the pod.'),
});

/** POST `pods/{name}/eviction`: deletes the pod. No PodDisruptionBudget limits it. */
export const podEviction = (dialect: Dialect): ActionSubresource => ({
  type: 'action',
  name: 'eviction',
  body: { group: dialect.group('policy'), version: 'v1', kind: 'Eviction', schema },
  prepare: requireTargetName,
  create: async (body, target) => {
    await target.delete(optionsOf(body));
    return success();
  },
});

const optionsOf = ({ deleteOptions: options }: ApiObject): ApiObject => ({
  ...(options as Partial<ApiObject> | undefined),
  kind: 'DeleteOptions',
  apiVersion: 'v1',
  metadata: {},
});
