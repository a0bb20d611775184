import { errorsOfEach, type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDnsLabel, isPathSegment } from '../../meta/formats.ts';
import { parseQuantity } from '../../meta/quantity.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { validateContainerResourceName } from '../core/resource-names.ts';
import type { AutoscalerSpec, AutoscalerStatus, MetricIdentifier, MetricSpec, MetricTarget, ScalingRules } from './autoscaler-schema.ts';

/** Errors of a spec, given the one that it replaces. A least number of 0 may stay; `toZero`: it may be new. `domain` is that of native resources. */
export function autoscalerErrors(
  spec: AutoscalerSpec,
  { old, domain, toZero = false }: { readonly old?: AutoscalerSpec; readonly domain: string; readonly toZero?: boolean | undefined },
): FieldError[] {
  const { minReplicas, maxReplicas = 0, scaleTargetRef = {}, metrics = [], behavior: { scaleUp, scaleDown } = {} } = spec;
  const least = toZero || old?.minReplicas === 0 ? 0 : 1;
  const forZero = metrics.some(({ type }) => type === 'Object' || type === 'External');
  return [
    ...(minReplicas !== undefined && minReplicas < least ? [invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`)] : []),
    ...(maxReplicas < 1 ? [invalid('spec.maxReplicas', maxReplicas, 'must be greater than 0')] : []),
    ...(minReplicas !== undefined && maxReplicas < minReplicas ? [invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`')] : []),
    ...referenceErrors(scaleTargetRef, 'spec.scaleTargetRef'),
    ...errorsOfEach(metrics, (each, index) => metricErrors(each, { path: `spec.metrics[${index}]`, domain })),
    ...(minReplicas === 0 && !forZero ? [forbidden('spec.metrics', 'must specify at least one Object or External metric to support scaling to zero replicas')] : []),
    ...(scaleUp ? rulesErrors(scaleUp, 'spec.behavior.scaleUp') : []),
    ...(scaleDown ? rulesErrors(scaleDown, 'spec.behavior.scaleDown') : []),
  ];
}

const referenceErrors = ({ kind = '', name = '' }: { readonly kind?: string; readonly name?: string }, path: string): FieldError[] =>
  Object.entries({ kind, name }).flatMap(([field, value]) => (value === '' ? [required(`${path}.${field}`)] : failing(isPathSegment, `${path}.${field}`, value)));

/** Fields by types of metrics, in the order in which they are looked at: of several only the first is. */
const fields = { Object: 'object', External: 'external', Pods: 'pods', Resource: 'resource', ContainerResource: 'containerResource' } as const;
const types = Object.keys(fields);

interface Place {
  readonly path: string;
  readonly domain: string;
}

function metricErrors(metric: MetricSpec, { path, domain }: Place): FieldError[] {
  const { type = '' } = metric;
  const expected = Object.hasOwn(fields, type) ? fields[type as keyof typeof fields] : undefined;
  const present = Object.values(fields).filter((field) => metric[field] !== undefined);
  return [
    ...(type === '' ? [required(`${path}.type`, 'must specify a metric source type')] : []),
    ...(expected ? [] : [notSupported(`${path}.type`, type, types)]),
    ...sourceErrors(metric, present[0], { path: `${path}.${present[0]}`, domain }),
    ...(expected && !present.includes(expected) ? [required(`${path}.${expected}`, 'must populate information for the given metric source')] : []),
    ...(present.length === 1 ? [] : present.filter((field) => field !== expected).map((field) => forbidden(`${path}.${field}`, 'must populate the given metric source only'))),
  ];
}

function sourceErrors({ object, external, pods, resource, containerResource }: MetricSpec, field: string | undefined, { path, domain }: Place): FieldError[] {
  if (field === 'object' && object) {
    const { describedObject = {}, metric = {}, target = {} } = object;
    const none = target.value === undefined && target.averageValue === undefined;
    return [
      ...referenceErrors(describedObject, `${path}.describedObject`),
      ...identifiedErrors(metric, target, path),
      ...(none ? [required(`${path}.target.averageValue`, 'must set either a target value or averageValue')] : []),
    ];
  }
  if (field === 'external' && external) return [...identifiedErrors(external.metric ?? {}, external.target ?? {}, path), ...eitherValue(external.target ?? {}, `${path}.target`)];
  if (field === 'pods' && pods) {
    const { metric = {}, target = {} } = pods;
    return [...identifiedErrors(metric, target, path), ...(target.averageValue === undefined ? [required(`${path}.target.averageValue`, 'must specify a positive target averageValue')] : [])];
  }
  if (field === 'resource' && resource) return resourceErrors(resource, path);
  if (field !== 'containerResource' || !containerResource) return [];
  const { container = '', name = '' } = containerResource;
  return [
    ...(name === '' ? [] : validateContainerResourceName(name, `${path}.name`, domain)),
    ...(container === '' ? [required(`${path}.container`, 'must specify a container')] : failing(isDnsLabel, `${path}.container`, container)),
    ...resourceErrors(containerResource, path),
  ];
}

const identifiedErrors = ({ name = '' }: MetricIdentifier, target: MetricTarget, path: string): FieldError[] => [
  ...(name === '' ? [required(`${path}.metric.name`, 'must specify a metric name')] : failing(isPathSegment, `${path}.metric.name`, name)),
  ...targetErrors(target, `${path}.target`),
];

function eitherValue({ value, averageValue }: MetricTarget, path: string): FieldError[] {
  if (value === undefined && averageValue === undefined) return [required(`${path}.averageValue`, 'must set either a target value for metric or a per-pod target')];
  return value !== undefined && averageValue !== undefined ? [forbidden(`${path}.value`, 'may not set both a target value for metric and a per-pod target')] : [];
}

function resourceErrors({ name = '', target = {} }: { readonly name?: string; readonly target?: MetricTarget }, path: string): FieldError[] {
  const { averageUtilization, averageValue } = target;
  const errors = [...(name === '' ? [required(`${path}.name`, 'must specify a resource name')] : []), ...targetErrors(target, `${path}.target`)];
  if (averageUtilization === undefined && averageValue === undefined) errors.push(required(`${path}.target.averageUtilization`, 'must set either a target raw value or a target utilization'));
  if (averageUtilization !== undefined && averageValue !== undefined) errors.push(forbidden(`${path}.target.averageValue`, 'may not set both a target raw value and a target utilization'));
  return errors;
}

const targetTypes = ['Utilization', 'Value', 'AverageValue'];

function targetErrors({ type = '', value, averageValue, averageUtilization }: MetricTarget, path: string): FieldError[] {
  const errors = type === '' ? [required(`${path}.type`, 'must specify a metric target type')] : [];
  if (!targetTypes.includes(type)) errors.push(invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  for (const [field, text] of Object.entries({ value, averageValue })) {
    if (text !== undefined && (parseQuantity(text)?.nanos ?? 0n) <= 0n) errors.push(invalid(`${path}.${field}`, text, 'must be positive'));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) errors.push(invalid(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  return errors;
}

const selections = ['Disabled', 'Max', 'Min'];
const policyTypes = ['Percent', 'Pods'];
const windowSecondsMax = 3600;
const periodSecondsMax = 1800;

function rulesErrors({ selectPolicy, policies = [], stabilizationWindowSeconds: window = 0 }: ScalingRules, path: string): FieldError[] {
  return [
    ...(window < 0 ? [invalid(`${path}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero')] : []),
    ...(window > windowSecondsMax ? [invalid(`${path}.stabilizationWindowSeconds`, window, `must be less than or equal to ${windowSecondsMax}`)] : []),
    ...(selectPolicy === undefined || selections.includes(selectPolicy) ? [] : [notSupported(`${path}.selectPolicy`, selectPolicy, selections)]),
    ...(policies.length === 0 ? [required(`${path}.policies`, 'must specify at least one Policy')] : []),
    ...errorsOfEach(policies, ({ type = '', value = 0, periodSeconds = 0 }, index) => [
      ...(policyTypes.includes(type) ? [] : [notSupported(`${path}.policies[${index}].type`, type, policyTypes)]),
      ...(value <= 0 ? [invalid(`${path}.policies[${index}].value`, value, 'must be greater than zero')] : []),
      ...(periodSeconds <= 0 ? [invalid(`${path}.policies[${index}].periodSeconds`, periodSeconds, 'must be greater than zero')] : []),
      ...(periodSeconds > periodSecondsMax ? [invalid(`${path}.policies[${index}].periodSeconds`, periodSeconds, `must be less than or equal to ${periodSecondsMax}`)] : []),
    ]),
  ];
}

export const autoscalerStatusErrors = ({ currentReplicas = 0, desiredReplicas = 0 }: AutoscalerStatus): FieldError[] =>
  Object.entries({ currentReplicas, desiredReplicas }).flatMap(([field, value]) => (value < 0 ? [invalid(`status.${field}`, value, 'must be greater than or equal to 0')] : []));
