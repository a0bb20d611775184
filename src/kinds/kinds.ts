import type { Dialect } from '../dialect/dialect.ts';
import { mutatingAdmissionPolicies } from './admissionregistration/mutating-admission-policy.ts';
import { validatingAdmissionPolicies } from './admissionregistration/validating-admission-policy.ts';
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from './admissionregistration/webhook-configuration.ts';
import { customResourceDefinition } from './apiextensions/custom-resource-definition.ts';
import { storageVersion } from './apiserverinternal/storage-version.ts';
import { controllerRevision } from './apps/controller-revision.ts';
import { daemonSet } from './apps/daemon-set.ts';
import { deployment } from './apps/deployment.ts';
import { replicaSet } from './apps/replica-set.ts';
import { statefulSet } from './apps/stateful-set.ts';
import { selfSubjectReviews } from './authentication/self-subject-review.ts';
import { tokenReview } from './authentication/token-review.ts';
import { localSubjectAccessReview } from './authorization/local-subject-access-review.ts';
import { selfSubjectAccessReview } from './authorization/self-subject-access-review.ts';
import { selfSubjectRulesReview } from './authorization/self-subject-rules-review.ts';
import { subjectAccessReview } from './authorization/subject-access-review.ts';
import { cpuAutoscaler } from './autoscaling/cpu-autoscaler.ts';
import { horizontalPodAutoscaler } from './autoscaling/horizontal-pod-autoscaler.ts';
import { cronJob } from './batch/cron-job.ts';
import { job } from './batch/job.ts';
import { certificateSigningRequest } from './certificates/certificate-signing-request.ts';
import { betaClusterTrustBundle, clusterTrustBundle } from './certificates/cluster-trust-bundle.ts';
import { lease } from './coordination/lease.ts';
import { leaseCandidate } from './coordination/lease-candidate.ts';
import { binding } from './core/binding.ts';
import { componentStatus } from './core/component-status.ts';
import { configMap } from './core/config-map.ts';
import { endpoints } from './core/endpoints.ts';
import { event } from './core/event.ts';
import { limitRange } from './core/limit-range.ts';
import { namespace } from './core/namespace.ts';
import { node } from './core/node.ts';
import { persistentVolume } from './core/persistent-volume/persistent-volume.ts';
import { persistentVolumeClaim } from './core/persistent-volume-claim.ts';
import { pod } from './core/pod/pod.ts';
import { podTemplate } from './core/pod-template.ts';
import { replicationController } from './core/replication-controller.ts';
import { resourceQuota } from './core/resource-quota.ts';
import { secret } from './core/secret.ts';
import { service } from './core/service/service.ts';
import { serviceAccount } from './core/service-account.ts';
import { endpointSlice } from './discovery/endpoint-slice.ts';
import { eventsEvent } from './events/event.ts';
import { flowControlKinds } from './flowcontrol/flow-control-kinds.ts';
import type { Kind } from './kind.ts';
import { ingress } from './networking/ingress.ts';
import { ingressClass } from './networking/ingress-class.ts';
import { ipAddress } from './networking/ip-address.ts';
import { networkPolicy } from './networking/network-policy.ts';
import { serviceCidr } from './networking/service-cidr.ts';
import { runtimeClass } from './node/runtime-class.ts';
import { podDisruptionBudget } from './policy/pod-disruption-budget.ts';
import { clusterRole } from './rbac/cluster-role.ts';
import { clusterRoleBinding } from './rbac/cluster-role-binding.ts';
import { role } from './rbac/role.ts';
import { roleBinding } from './rbac/role-binding.ts';
import { resourceKinds } from './resource/resource-kinds.ts';
import { priorityClass } from './scheduling/priority-class.ts';
import { csiDriver } from './storage/csi-driver.ts';
import { csiNode } from './storage/csi-node.ts';
import { csiStorageCapacity } from './storage/csi-storage-capacity.ts';
import { storageClass } from './storage/storage-class.ts';
import { volumeAttachment } from './storage/volume-attachment.ts';
import { volumeAttributesClass } from './storage/volume-attributes-class.ts';
import { storageVersionMigration } from './storagemigration/storage-version-migration.ts';

/** All built-in kinds, with the names of a dialect. */
export function kinds(dialect: Dialect): readonly Kind[] {
  const coreEvent = event(dialect);
  const trustBundle = refusingFinalizers(clusterTrustBundle(dialect));
  const autoscaler = refusingFinalizers(horizontalPodAutoscaler(dialect));
  return [
    ...[configMap, namespace, node, pod, secret].map((make) => refusingFinalizers(make(dialect))),
    ...[podTemplate, replicationController, limitRange, persistentVolume, persistentVolumeClaim, resourceQuota].map(
      (make) => refusingFinalizers(make(dialect)),
    ),
    refusingFinalizers(serviceAccount(dialect)),
    refusingFinalizers(service(dialect)),
    refusingFinalizers(endpoints(dialect)),
    coreEvent,
    eventsEvent(dialect, coreEvent),
    binding,
    componentStatus,
    ...[controllerRevision, daemonSet, deployment, replicaSet, statefulSet, job, cronJob].map((make) =>
      refusingFinalizers(make(dialect)),
    ),
    lease(dialect),
    leaseCandidate(dialect),
    storageVersion(dialect),
    storageVersionMigration(dialect),
    refusingFinalizers(certificateSigningRequest(dialect)),
    refusingFinalizers(endpointSlice(dialect)),
    ...[ingressClass, ingress, networkPolicy, ipAddress, serviceCidr].map((make) => refusingFinalizers(make(dialect))),
    autoscaler,
    cpuAutoscaler(dialect, autoscaler),
    podDisruptionBudget(dialect),
    ...[role, roleBinding, clusterRole, clusterRoleBinding].map((make) => refusingFinalizers(make(dialect))),
    trustBundle,
    betaClusterTrustBundle(trustBundle),
    customResourceDefinition(dialect),
    validatingWebhookConfiguration(dialect),
    mutatingWebhookConfiguration(dialect),
    ...validatingAdmissionPolicies(dialect),
    ...mutatingAdmissionPolicies(dialect),
    refusingFinalizers(priorityClass(dialect)),
    runtimeClass(dialect),
    ...[storageClass, csiDriver, csiNode, csiStorageCapacity, volumeAttachment].map((make) =>
      refusingFinalizers(make(dialect)),
    ),
    ...volumeAttributesClass(dialect).map(refusingFinalizers),
    ...resourceKinds(dialect),
    ...flowControlKinds(dialect).map(refusingFinalizers),
    tokenReview(dialect),
    ...selfSubjectReviews(dialect),
    selfSubjectAccessReview(dialect),
    selfSubjectRulesReview(dialect),
    subjectAccessReview(dialect),
    localSubjectAccessReview(dialect),
  ];
}

/** As in kube-apiserver: core kinds except Event, those of RBAC, and some more. Others accept any qualified name. */
const refusingFinalizers = (kind: Kind): Kind => ({ ...kind, finalizersWithoutDomain: 'refused' });
