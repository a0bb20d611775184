import type { AdmissionAttributes } from '../../request/admission.ts';
import { writesResource } from './concerned-resource.ts';

const pods = { group: '', resource: 'pods' };

/** A pod is created or updated as a whole, not through a subresource. */
export const writesPod = (attributes: AdmissionAttributes): boolean =>
  createsPod(attributes) || (attributes.operation === 'update' && writesResource(attributes, pods));

/** A pod is created. */
export const createsPod = (attributes: AdmissionAttributes): boolean =>
  attributes.operation === 'create' && writesResource(attributes, pods);
