import type { Dialect } from './dialect.ts';

/** Labels and annotations of workload controllers. */
interface WorkloadNames {
  readonly podTemplateHash: string;
  readonly podDeletionCost: string;
  readonly revision: string;
  readonly revisionHistory: string;
  readonly desiredReplicas: string;
  readonly maxReplicas: string;
  /** The revision that a deployment is to go back to, as in the first version of the API. */
  readonly rollbackTo: string;
}

const common = { podTemplateHash: 'pod-template-hash', rollbackTo: 'deprecated.deployment.rollback.to' };

const all: Readonly<Record<Dialect['name'], WorkloadNames>> = {
  orch: {
    ...common,
    podDeletionCost: 'controller.orch.io/pod-deletion-cost',
    revision: 'deployment.orch.io/revision',
    revisionHistory: 'deployment.orch.io/revision-history',
    desiredReplicas: 'deployment.orch.io/desired-replicas',
    maxReplicas: 'deployment.orch.io/max-replicas',
  },
  kubernetes: {
    ...common,
    podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
    revision: 'deployment.kubernetes.io/revision',
    revisionHistory: 'deployment.kubernetes.io/revision-history',
    desiredReplicas: 'deployment.kubernetes.io/desired-replicas',
    maxReplicas: 'deployment.kubernetes.io/max-replicas',
  },
};

export const workloadNames = ({ name }: Dialect): WorkloadNames => all[name];

/** Labels and annotations of endpoints and their slices. */
export function endpointNames({ name, domain }: Dialect) {
  const controller = name === 'kubernetes' ? 'k8s.io' : domain;
  return {
    serviceName: `${domain}/service-name`,
    managedBy: `endpointslice.${domain}/managed-by`,
    /** Value of that label. */
    manager: `endpointslice-controller.${controller}`,
    headless: `service.${domain}/headless`,
    overCapacity: `endpoints.${domain}/over-capacity`,
    triggerTime: `endpoints.${domain}/last-change-trigger-time`,
    zone: `topology.${domain}/zone`,
  };
}

/** Labels of the pods of daemon sets and stateful sets, and of the revisions of their templates. */
export function setNames({ domain }: Dialect) {
  return {
    /** Of pods: the revision that they were made of. */
    revisionHash: 'controller-revision-hash',
    /** Of pods of daemon sets: the number of templates so far, for clients that know no revisions. */
    templateGeneration: 'pod-template-generation',
    /** Annotation of daemon sets with that number. */
    templatesCounted: 'deprecated.daemonset.template.generation',
    /** Of revisions: the hash in their name. */
    dataHash: `controller.${domain}/hash`,
    podName: `statefulset.${domain}/pod-name`,
    podIndex: `apps.${domain}/pod-index`,
  };
}

/** Labels, annotations and finalizers of jobs and of their pods. */
export const jobNames = ({ domain }: Dialect) => ({
  completionIndex: `batch.${domain}/job-completion-index`,
  indexFailureCount: `batch.${domain}/job-index-failure-count`,
  indexIgnoredFailureCount: `batch.${domain}/job-index-ignored-failure-count`,
  /** Finalizer of pods that are not in the counters yet. */
  tracking: `batch.${domain}/job-tracking`,
  scheduledAt: `batch.${domain}/cronjob-scheduled-timestamp`,
  /** Value of `managedBy` for the controller of this program. */
  manager: `${domain}/job-controller`,
});
