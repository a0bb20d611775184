import type { ApiObject } from '../../../meta/api-object.ts';
import { badRequest } from '../../../meta/status-error.ts';
import type { ActionTarget } from '../../kind.ts';

/** Response of an action that returns no object. */
export const success = (): ApiObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});

/** Throws BadRequest if the body names an object other than the one in the URL. */
export function requireTargetName({ metadata }: ApiObject, { name }: ActionTarget): void {
  if (metadata.name === undefined || metadata.name === name) return;
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}
