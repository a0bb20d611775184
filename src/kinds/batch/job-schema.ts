import type { ApiObject } from '../../meta/api-object.ts';
import { always, bool, documentedEnum, type Infer, int32, int64, list, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { podTemplateSpec } from '../core/pod/pod-template-spec.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { typed } from '../typed.ts';

export const exitCodes = list(int32(), { listType: 'set', duplicatesAllowed: true });

const onExitCodes = struct('api.batch.v1.PodFailurePolicyOnExitCodesRequirement', 'Exit codes of containers.', {
  containerName: ptr(1, string(), 'Container that is looked at; all of them unless set.'),
  operator: always(2, documentedEnum('In', 'NotIn'), '`In` or `NotIn`.'),
  values: always(3, exitCodes, 'Exit codes, in increasing order.', { documented: 'required' }),
});

const onPodConditions = struct('api.batch.v1.PodFailurePolicyOnPodConditionsPattern', 'A condition of a pod.', {
  type: always(1, string(), 'Type of the condition.'),
  status: always(2, string(), 'Status of the condition; `True` unless set.'),
});

const failureRule = struct('api.batch.v1.PodFailurePolicyRule', 'What to do about pods that failed in a certain way.', {
  action: always(1, documentedEnum('Count', 'FailIndex', 'FailJob', 'Ignore'), '`FailJob`, `FailIndex`, `Ignore` or `Count`.'),
  onExitCodes: ptr(2, onExitCodes, 'Exit codes that the rule is for.'),
  onPodConditions: opt(3, list(onPodConditions), 'Conditions of pods that the rule is for; one is enough.'),
});

const failurePolicy = struct('api.batch.v1.PodFailurePolicy', 'What failed pods mean for a job.', {
  rules: always(1, list(failureRule), 'Rules; the first that fits counts.', { documented: 'required' }),
});

const successRule = struct('api.batch.v1.SuccessPolicyRule', 'Indexes with which a job has succeeded.', {
  succeededIndexes: ptr(1, string(), 'Indexes that must have succeeded, such as `1,3-5`.'),
  succeededCount: ptr(2, int32({ minimum: 0 }), 'How many of them are enough.'),
});

export const successPolicySchema = struct('api.batch.v1.SuccessPolicy', 'When a job has succeeded before all of its indexes have.', {
  rules: always(1, list(successRule), 'Rules; one is enough.', { documented: 'required' }),
});

export const jobSpec = struct(
  'api.batch.v1.JobSpec',
  'What a job runs, how often, and when it is over.',
  {
    parallelism: ptr(1, int32({ minimum: 0 }), 'Pods that may run at the same time.'),
    completions: ptr(2, int32({ minimum: 0 }), 'Pods that must succeed; unless set, one that succeeds ends the job.'),
    activeDeadlineSeconds: ptr(3, int64({ minimum: 0 }), 'Seconds after its start at which the job fails.'),
    podFailurePolicy: ptr(11, failurePolicy, 'What failed pods mean; unless set they all count towards the limit.'),
    successPolicy: ptr(16, successPolicySchema, 'When the job has succeeded before all of its indexes have.', { checkedWhile: { field: 'completionMode', is: 'Indexed' } }),
    backoffLimit: ptr(7, int32({ minimum: 0 }), 'Failed pods after which the job fails.'),
    backoffLimitPerIndex: ptr(12, int32({ minimum: 0 }), 'Failed pods after which an index fails.'),
    maxFailedIndexes: ptr(13, int32({ minimum: 0 }), 'Failed indexes after which the job fails.'),
    selector: ptr(4, labelSelector, 'Selects the pods of the job; made by the server unless `manualSelector` is set.'),
    manualSelector: ptr(5, bool(), 'The selector and the labels of the template are as they were sent.'),
    template: always(6, podTemplateSpec, 'What the pods are made of.', { documented: 'required' }),
    ttlSecondsAfterFinished: ptr(8, int32({ minimum: 0 }), 'Seconds after its end at which the job is deleted.'),
    completionMode: ptr(9, documentedEnum('Indexed', 'NonIndexed'), '`NonIndexed`, or `Indexed`: one pod for each number.'),
    suspend: ptr(10, bool(), 'Keep the job from making pods; those that run are deleted.'),
    podReplacementPolicy: ptr(14, documentedEnum('Failed', 'TerminatingOrFailed'), 'When a pod is replaced: `TerminatingOrFailed` or `Failed`.'),
    managedBy: ptr(15, string(), 'Controller of the job, as a domain and a path.'),
  },
  {
    checkedFirst: [
      'parallelism',
      'completions',
      'activeDeadlineSeconds',
      'backoffLimit',
      'ttlSecondsAfterFinished',
      'backoffLimitPerIndex',
      'maxFailedIndexes',
      'managedBy',
      'completionMode',
      'podFailurePolicy',
      'successPolicy',
      'podReplacementPolicy',
      'template',
    ],
  },
);

export type JobSpec = Infer<typeof jobSpec>;

const condition = struct('api.batch.v1.JobCondition', 'One aspect of the state of a job.', {
  type: always(1, string(), 'Name of the aspect, such as `Complete` or `Failed`.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastProbeTime: always(3, time(), 'When the aspect was last looked at.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: opt(5, string(), 'Machine-readable reason of the last change.'),
  message: opt(6, string(), 'The reason in words.'),
});

const uncounted = struct('api.batch.v1.UncountedTerminatedPods', 'Pods that ended and are not in the counters yet.', {
  succeeded: opt(1, list(string(), { listType: 'set', duplicatesAllowed: true }), 'UIDs of pods that succeeded.'),
  failed: opt(2, list(string(), { listType: 'set', duplicatesAllowed: true }), 'UIDs of pods that failed.'),
});

const status = struct('api.batch.v1.JobStatus', 'How far a job is.', {
  conditions: opt(1, list(condition, { patchStrategy: 'merge', patchMergeKey: 'type', listType: 'atomic' }), 'What is known of the state.'),
  startTime: ptr(2, time(), 'When the job began, or went on after it was suspended.'),
  completionTime: ptr(3, time(), 'When the job succeeded.'),
  active: opt(4, int32({ minimum: 0 }), 'Pods that run or wait.'),
  succeeded: opt(5, int32({ minimum: 0 }), 'Pods that succeeded.'),
  failed: opt(6, int32({ minimum: 0 }), 'Pods that failed.'),
  terminating: ptr(11, int32({ minimum: 0 }), 'Pods that are being deleted.'),
  completedIndexes: opt(7, string(), 'Indexes that succeeded, such as `1,3-5`.'),
  failedIndexes: ptr(10, string(), 'Indexes that failed.'),
  uncountedTerminatedPods: ptr(8, uncounted, 'Pods that ended and are not in the counters yet.'),
  ready: ptr(9, int32({ minimum: 0 }), 'Pods that are ready.'),
});

export type JobStatus = Infer<typeof status>;

export const jobSchema = kindSchema('api.batch.v1.Job', 'Runs pods until a number of them succeeded.', {
  spec: always(2, jobSpec, 'What is asked for.'),
  status: always(3, status, 'How far it is.'),
});

export const asJob = (object: ApiObject) => typed(jobSchema, object);
