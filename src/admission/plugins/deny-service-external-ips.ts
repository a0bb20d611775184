import { specOf } from '../../kinds/core/service/service-spec.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { writesResource } from './concerned-resource.ts';

const addressesOf = (service: ApiObject | undefined): readonly string[] =>
  (service && specOf(service).externalIPs) ?? [];

/** Nobody takes addresses for a Service (CVE-2020-8554); those that it has may stay. */
export const denyServiceExternalIps = (): AdmissionPlugin => ({
  name: 'DenyServiceExternalIPs',
  sideEffects: 'none',
  concerns: (attributes) =>
    (attributes.operation === 'create' || attributes.operation === 'update') &&
    writesResource(attributes, { group: '', resource: 'services' }),
  validate(attributes) {
    const known = new Set(addressesOf(attributes.old));
    if (addressesOf(attributes.object).every((address) => known.has(address))) return;
    throw admissionForbidden(attributes, 'Use of external IPs is denied by admission control');
  },
});
