import type { ApiObject } from '../../../meta/api-object.ts';

/** Response of an action that returns no object. */
export const success = (): ApiObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});
