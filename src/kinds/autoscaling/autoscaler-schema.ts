import { always, type Fields, type Infer, int32, int64, list, mergeList, opt, ptr, quantity, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';

const name = (rest: string): string => `api.autoscaling.v2.${rest}`;
const needed = { documented: 'required' } as const;

const objectReference = struct(name('CrossVersionObjectReference'), 'Points at an object in the same namespace.', {
  kind: always(1, string(), 'Kind of the object.'),
  name: always(2, string(), 'Name of the object.'),
  apiVersion: opt(3, string(), 'Group and version of the object.'),
});

const metricIdentifier = struct(name('MetricIdentifier'), 'A metric.', {
  name: always(1, string(), 'Name of the metric.'),
  selector: ptr(2, labelSelector, 'Selects series of the metric by their labels.', { unchecked: true }),
});

const metricTarget = struct(name('MetricTarget'), 'The wanted value of a metric.', {
  type: always(1, string(), '`Utilization`, `Value` or `AverageValue`.'),
  value: ptr(2, quantity(), 'Wanted value.'),
  averageValue: ptr(3, quantity(), 'Wanted average over all pods.'),
  averageUtilization: ptr(4, int32(), 'Wanted average over all pods, in percent of what they request. For resources only.'),
});

const metricValue = struct(name('MetricValueStatus'), 'The present value of a metric.', {
  value: ptr(1, quantity(), 'Present value.'),
  averageValue: ptr(2, quantity(), 'Present average over all pods.'),
  averageUtilization: ptr(3, int32(), 'Present average over all pods, in percent of what they request.'),
});

const target = always(2, metricTarget, 'Wanted value.', needed);
const current = always(2, metricValue, 'Present value.', needed);
const metric = always(1, metricIdentifier, 'The metric.', needed);
const resourceName = always(1, string(), 'Name of the resource.');
const container = always(3, string(), 'Name of the container.');

const objectSource = struct(name('ObjectMetricSource'), 'A metric of one object.', {
  describedObject: always(1, objectReference, 'The object.', needed),
  target,
  metric: always(3, metricIdentifier, 'The metric.', needed),
});
const objectStatus = struct(name('ObjectMetricStatus'), 'Present value of a metric of one object.', {
  metric,
  current,
  describedObject: always(3, objectReference, 'The object.', needed),
});
const podsSource = struct(name('PodsMetricSource'), 'A metric of each pod, averaged.', { metric, target });
const podsStatus = struct(name('PodsMetricStatus'), 'Present value of a metric of each pod.', { metric, current });
const resourceSource = struct(name('ResourceMetricSource'), 'What pods use of a resource.', { name: resourceName, target });
const resourceStatus = struct(name('ResourceMetricStatus'), 'What pods use of a resource now.', { name: resourceName, current });
const containerSource = struct(name('ContainerResourceMetricSource'), 'What one container of each pod uses of a resource.', { name: resourceName, target, container });
const containerStatus = struct(name('ContainerResourceMetricStatus'), 'What one container of each pod uses of a resource now.', { name: resourceName, current, container });
const externalSource = struct(name('ExternalMetricSource'), 'A metric of no object of the cluster.', { metric, target });
const externalStatus = struct(name('ExternalMetricStatus'), 'Present value of a metric of no object of the cluster.', { metric, current });

const type = always(1, string(), 'Which field is set: `Object`, `Pods`, `Resource`, `ContainerResource` or `External`.');

const metricSpec = struct(name('MetricSpec'), 'A metric, and its wanted value.', {
  type,
  object: ptr(2, objectSource, 'A metric of one object.'),
  pods: ptr(3, podsSource, 'A metric of each pod.'),
  resource: ptr(4, resourceSource, 'A resource that pods request.'),
  external: ptr(5, externalSource, 'A metric of something outside the cluster.'),
  containerResource: ptr(7, containerSource, 'A resource that a container of each pod requests.'),
});

const metricStatus = struct(name('MetricStatus'), 'A metric, and its present value.', {
  type,
  object: ptr(2, objectStatus, 'A metric of one object.'),
  pods: ptr(3, podsStatus, 'A metric of each pod.'),
  resource: ptr(4, resourceStatus, 'A resource that pods request.'),
  external: ptr(5, externalStatus, 'A metric of something outside the cluster.'),
  containerResource: ptr(7, containerStatus, 'A resource that a container of each pod requests.'),
});

const scalingPolicy = struct(name('HPAScalingPolicy'), 'How much may change within a time.', {
  type: always(1, string(), '`Pods` or `Percent`.'),
  value: always(2, int32(), 'How much may change; above 0.'),
  periodSeconds: always(3, int32(), 'Within which time; 1 to 1800.'),
});

const scalingRules = struct(name('HPAScalingRules'), 'How fast the number of pods changes in one direction.', {
  selectPolicy: ptr(1, string(), 'Which policy counts: `Max`, `Min`, or `Disabled` for no change in this direction. Default: `Max`.'),
  // A list without policies is refused, unlike none.
  policies: ptr(2, list(scalingPolicy), 'How much may change within a time.'),
  stabilizationWindowSeconds: ptr(3, int32(), 'How long past recommendations are looked at; 0 to 3600. Default: 0 for more pods, else that of the controller.'),
});

const behavior = struct(name('HorizontalPodAutoscalerBehavior'), 'How fast the number of pods changes.', {
  scaleUp: ptr(1, scalingRules, 'How fast it grows.'),
  scaleDown: ptr(2, scalingRules, 'How fast it shrinks.'),
});

const spec = struct(name('HorizontalPodAutoscalerSpec'), 'What is scaled, between which bounds, and by which metrics.', {
  scaleTargetRef: always(1, objectReference, 'The object that is scaled, by its subresource `scale`.', needed),
  minReplicas: ptr(2, int32(), 'Least number of pods.', { default: 1 }),
  maxReplicas: always(3, int32(), 'Greatest number of pods.'),
  metrics: opt(4, list(metricSpec), 'The metrics; that which asks for most pods counts. Default: 80% of the processor time that pods request.'),
  behavior: ptr(5, behavior, 'How fast the number of pods changes.'),
});

/** Conditions are the same in all versions, except for the name. */
const conditionFields = {
  type: always(1, string(), 'What it is about.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastTransitionTime: always(3, time(), 'When the status last changed.'),
  reason: opt(4, string(), 'Machine-readable reason of the last change.'),
  message: opt(5, string(), 'The reason in words.'),
} satisfies Fields;

const condition = struct(name('HorizontalPodAutoscalerCondition'), 'One aspect of the state of an autoscaler.', conditionFields);

const autoscalerStatus = struct(name('HorizontalPodAutoscalerStatus'), 'State of an autoscaler.', {
  observedGeneration: ptr(1, int64(), 'The generation that the controller has seen.'),
  lastScaleTime: ptr(2, time(), 'When the number of pods was last changed.'),
  currentReplicas: opt(3, int32(), 'Number of pods that the controller last saw.'),
  desiredReplicas: always(4, int32(), 'Number of pods that it last computed.'),
  currentMetrics: always(5, list(metricStatus), 'Metrics that it last read.'),
  conditions: opt(6, mergeList('type', condition, { duplicatesAllowed: true }), 'Whether it can scale, and what limits it.'),
});

export const autoscalerSchema = kindSchema(name('HorizontalPodAutoscaler'), 'Keeps the number of pods in proportion to what they have to do.', {
  spec: always(2, spec, 'What is wanted.'),
  status: always(3, autoscalerStatus, 'What there is.'),
});

export type AutoscalerSpec = Infer<typeof spec>;
export type AutoscalerStatus = Infer<typeof autoscalerStatus>;
export type MetricSpec = Infer<typeof metricSpec>;
export type MetricStatus = Infer<typeof metricStatus>;
export type MetricTarget = Infer<typeof metricTarget>;
export type MetricIdentifier = Infer<typeof metricIdentifier>;
export type ScalingRules = Infer<typeof scalingRules>;
