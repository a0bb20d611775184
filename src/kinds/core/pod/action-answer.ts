import type { ApiObject } from '../../../meta/api-object.ts';

/** What an action answers that has nothing else to show. */
export const success = (): ApiObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});
