import type { Status } from '../../../meta/status-error.ts';

/** Response of an action that returns no object. */
export const success = (): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});
