import type { ApiObject } from '../../../meta/api-object.ts';
import { badRequest } from '../../../meta/status-error.ts';
import type { ActionTarget } from '../../kind.ts';

/** What an action answers that has nothing else to show. */
export const success = (): ApiObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});

/** A body that names an object names the one that is acted on. */
export function requireTargetName({ metadata }: ApiObject, { name }: ActionTarget): void {
  if (metadata.name === undefined || metadata.name === name) return;
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}
