import { AdmissionConfigurations } from '../../../admission/admission-configurations.ts';
import type { AdmissionLookups } from './admission.ts';

/** Test support: a server without namespaces, quotas, webhooks and policies. */
export const withoutConfigurations: Pick<
  AdmissionLookups,
  | 'namespace'
  | 'defaultClass'
  | 'existingPodWarnings'
  | 'podSecurityObserved'
  | 'countEvent'
  | 'provisionNamespace'
  | 'limitRanges'
  | 'countsQuota'
  | 'chargeQuota'
  | 'dynamic'
> = {
  namespace: () => undefined,
  defaultClass: () => undefined,
  existingPodWarnings: async () => [],
  podSecurityObserved() {},
  countEvent: () => undefined,
  provisionNamespace: () => Promise.resolve('nothing is created'),
  limitRanges: () => [],
  countsQuota: () => false,
  chargeQuota: () => Promise.resolve(undefined),
  dynamic: {
    configurations: new AdmissionConfigurations(),
    upToDate: () => undefined,
    send: () => Promise.reject(new Error('no webhook is configured')),
    params: () => Promise.reject(new Error('no policy is in force')),
    paramKindProblem: () => undefined,
    observed() {},
    conditionsObserved() {},
    policyObserved() {},
  },
};
