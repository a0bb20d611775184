import type { AdmissionAttributes } from '../../request/admission.ts';

/** A pod is created or updated as a whole, not through a subresource. */
export const writesPod = (attributes: AdmissionAttributes): boolean =>
  createsPod(attributes) || (attributes.operation === 'update' && isPod(attributes));

/** A pod is created. */
export const createsPod = (attributes: AdmissionAttributes): boolean =>
  attributes.operation === 'create' && isPod(attributes);

const isPod = ({ info: { group, resource, subresource } }: AdmissionAttributes): boolean =>
  group === '' && resource === 'pods' && subresource === '';
