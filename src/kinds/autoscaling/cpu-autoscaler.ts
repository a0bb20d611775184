import { cellOf } from '../../codec/table.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { isRecord } from '../../schema/own-property.ts';
import { always, int32, int64, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { metricFromV1, metricToV1, statusFromV1, statusToV1 } from './v1-metrics.ts';

const name = (rest: string): string => `api.autoscaling.v1.${rest}`;

const objectReference = struct(
  name('CrossVersionObjectReference'),
  'Points at an object in the same namespace.',
  {
    kind: always(1, string(), 'Kind of the object.'),
    name: always(2, string(), 'Name of the object.'),
    apiVersion: opt(3, string(), 'Group and version of the object.'),
  },
  { structType: 'atomic' },
);

const spec = struct(name('HorizontalPodAutoscalerSpec'), 'What is scaled, between which bounds.', {
  scaleTargetRef: always(1, objectReference, 'The object that is scaled, by its subresource `scale`.', { documented: 'required' }),
  minReplicas: ptr(2, int32(), 'Least number of pods.', { default: 1 }),
  maxReplicas: always(3, int32(), 'Greatest number of pods.'),
  targetCPUUtilizationPercentage: ptr(4, int32(), 'Wanted average of processor time over all pods, in percent of what they request.'),
});

const status = struct(name('HorizontalPodAutoscalerStatus'), 'State of an autoscaler.', {
  observedGeneration: ptr(1, int64(), 'The generation that the controller has seen.'),
  lastScaleTime: ptr(2, time(), 'When the number of pods was last changed.'),
  currentReplicas: always(3, int32(), 'Number of pods that the controller last saw.'),
  desiredReplicas: always(4, int32(), 'Number of pods that it last computed.'),
  currentCPUUtilizationPercentage: ptr(5, int32(), 'Present average of processor time over all pods, in percent of what they request.'),
});

const schema = kindSchema(name('HorizontalPodAutoscaler'), 'Keeps the number of pods in proportion to the processor time that they use.', {
  spec: always(2, spec, 'What is wanted.'),
  status: always(3, status, 'What there is.'),
});

type Values = Readonly<Record<string, unknown>>;

const record = (value: unknown): Values => (isRecord(value) ? value : {});
const items = (value: unknown): Values[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** What an annotation says; undefined if it is no JSON, which is passed over, as published. */
function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

const isCpu = ({ type, resource }: Values): boolean => type === 'Resource' && record(resource)['name'] === 'cpu';
const utilizationOf = ({ resource }: Values, field: 'target' | 'current'): unknown => record(record(resource)[field])['averageUtilization'];

const present = (values: Values): Values => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** Rules for one direction in the annotation of the behavior: every field, in this order, with a capital. */
const rulesText = (rules: unknown): Values | null => {
  if (!isRecord(rules)) return null;
  const { stabilizationWindowSeconds = null, selectPolicy = null, policies } = rules;
  const shown = Array.isArray(policies) ? items(policies).map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) : null;
  return { StabilizationWindowSeconds: stabilizationWindowSeconds, SelectPolicy: selectPolicy, Policies: shown };
};

const behaviorText = ({ scaleUp, scaleDown }: Values): string => JSON.stringify({ ScaleUp: rulesText(scaleUp), ScaleDown: rulesText(scaleDown) });

/** What that annotation says: null is no value. */
const readBehavior = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(readBehavior);
  if (!isRecord(value)) return value;
  const said = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(said.map(([field, each]) => [field.charAt(0).toLowerCase() + field.slice(1), readBehavior(each)]));
};

/** Annotations with what this version has no fields for. */
const annotationsOf = ({ domain }: Dialect) => {
  const prefix = `autoscaling.alpha.${domain}/`;
  return { metrics: `${prefix}metrics`, currentMetrics: `${prefix}current-metrics`, conditions: `${prefix}conditions`, behavior: `${prefix}behavior` };
};

type Annotations = ReturnType<typeof annotationsOf>;

function toStored(object: ApiObject, names: Annotations, group: string): ApiObject {
  const { annotations, ...metadata } = object.metadata ?? {};
  const read = (field: keyof Annotations): unknown => (annotations && Object.hasOwn(annotations, names[field]) ? parsed(annotations[names[field]]) : undefined);
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !Object.values(names).includes(key));
  const { targetCPUUtilizationPercentage: averageUtilization, ...rest } = record(object['spec']);
  const { currentCPUUtilizationPercentage, ...state } = record(object['status']);
  const cpu = averageUtilization === undefined ? [] : [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }];
  // The last one, as published.
  const metrics = [...items(read('metrics')).map(metricFromV1), ...cpu];
  const behavior = readBehavior(read('behavior'));
  const cpuStatus = [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: currentCPUUtilizationPercentage } } }];
  const saved = read('currentMetrics');
  const currentMetrics = Array.isArray(saved) ? items(saved).map(statusFromV1) : currentCPUUtilizationPercentage === undefined ? undefined : cpuStatus;
  const conditions = read('conditions');
  return {
    ...object,
    apiVersion: `${group}/v2`,
    metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
    ...(object['spec'] !== undefined && { spec: present({ ...rest, metrics: metrics.length > 0 ? metrics : undefined, behavior: isRecord(behavior) ? behavior : undefined }) }),
    ...(object['status'] !== undefined && { status: present({ ...state, currentMetrics, conditions: Array.isArray(conditions) ? items(conditions) : undefined }) }),
  };
}

function fromStored(object: ApiObject, names: Annotations, group: string): ApiObject {
  const { metrics, behavior, ...rest } = record(object['spec']);
  const { currentMetrics, conditions, ...state } = record(object['status']);
  const [all, statuses] = [items(metrics), items(currentMetrics)];
  const others = all.filter((each) => !(isCpu(each) && utilizationOf(each, 'target') !== undefined));
  const first = all.find(isCpu);
  const cpu = statuses.findLast((each) => isCpu(each) && utilizationOf(each, 'current') !== undefined);
  const kept = Object.entries(object.metadata?.annotations ?? {}).filter(([key]) => !Object.values(names).includes(key));
  const added: [string, string][] = [];
  if (others.length > 0) added.push([names.metrics, JSON.stringify(others.map(metricToV1))]);
  if (statuses.length > 0) added.push([names.currentMetrics, JSON.stringify(statuses.map(statusToV1))]);
  if (items(conditions).length > 0) added.push([names.conditions, JSON.stringify(conditions)]);
  if (isRecord(behavior)) added.push([names.behavior, behaviorText(behavior)]);
  const { annotations: _annotations, ...metadata } = object.metadata ?? {};
  return {
    ...object,
    apiVersion: `${group}/v1`,
    metadata: { ...metadata, ...(kept.length + added.length > 0 && { annotations: Object.fromEntries([...kept, ...added]) }) },
    ...(object['spec'] !== undefined && { spec: present({ ...rest, targetCPUUtilizationPercentage: first && utilizationOf(first, 'target') }) }),
    ...(object['status'] !== undefined && { status: present({ ...state, currentCPUUtilizationPercentage: cpu && utilizationOf(cpu, 'current') }) }),
  };
}

/** HorizontalPodAutoscaler in its first version, which knows processor time only; the rest is in annotations. */
export function cpuAutoscaler(dialect: Dialect, stored: Kind): Kind {
  const names = annotationsOf(dialect);
  const same = (text: string): string => text;
  const convert = (object: ApiObject): ApiObject => toStored(object, names, stored.group);
  return {
    ...stored,
    version: 'v1',
    schema,
    storedAs: { kind: stored, toStored: convert, fromStored: (object) => fromStored(object, names, stored.group), storedLabel: same, versionPath: same },
    columns: stored.columns.map((column) => ({ ...column, value: (object, now) => cellOf(column.value, convert(object), now) })),
  };
}
