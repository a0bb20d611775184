import { isRecord } from '../../schema/own-property.ts';

/** Metrics in the annotations of autoscaling/v1: the same as in the stored version, with flat fields. */

type Values = Readonly<Record<string, unknown>>;

const record = (value: unknown): Values => (isRecord(value) ? value : {});
const present = (values: Values): Values => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));

const fields = { Object: 'object', Pods: 'pods', Resource: 'resource', ContainerResource: 'containerResource', External: 'external' } as const;

type Source = (source: Values) => Values;

function converted(metric: Values, sources: Readonly<Record<keyof typeof fields, Source>>): Values {
  const { type } = metric;
  const found = (Object.keys(fields) as (keyof typeof fields)[]).filter((each) => isRecord(metric[fields[each]]));
  return { type, ...Object.fromEntries(found.map((each) => [fields[each], present(sources[each](record(metric[fields[each]])))])) };
}

const identifier = (name: unknown, selector: unknown): Values => present({ name, selector });
const targetOf = (type: string, values: Values): Values => present({ type, ...values });

export const metricFromV1 = (metric: Values): Values =>
  converted(metric, {
    Object: ({ target, metricName, targetValue, selector, averageValue }) => ({
      describedObject: target,
      metric: identifier(metricName, selector),
      target: targetOf((averageValue ?? null) === null ? 'Value' : 'AverageValue', { value: targetValue, averageValue }),
    }),
    Pods: ({ metricName, targetAverageValue, selector }) => ({ metric: identifier(metricName, selector), target: targetOf('AverageValue', { averageValue: targetAverageValue }) }),
    Resource: ({ name, targetAverageUtilization, targetAverageValue }) => ({ name, target: resourceTarget(targetAverageUtilization, targetAverageValue) }),
    ContainerResource: ({ name, container, targetAverageUtilization, targetAverageValue }) => ({ name, container, target: resourceTarget(targetAverageUtilization, targetAverageValue) }),
    External: ({ metricName, metricSelector, targetValue, targetAverageValue }) => ({
      metric: identifier(metricName, metricSelector),
      target: targetOf((targetValue ?? null) === null ? 'AverageValue' : 'Value', { value: targetValue, averageValue: targetAverageValue }),
    }),
  });

const resourceTarget = (averageUtilization: unknown, averageValue: unknown): Values =>
  targetOf((averageUtilization ?? null) === null ? 'AverageValue' : 'Utilization', { averageUtilization, averageValue });

export const metricToV1 = (metric: Values): Values =>
  converted(metric, {
    Object: ({ describedObject, metric: id, target }) => ({
      target: describedObject,
      metricName: record(id)['name'],
      targetValue: record(target)['value'] ?? '0',
      selector: record(id)['selector'],
      averageValue: record(target)['averageValue'],
    }),
    Pods: ({ metric: id, target }) => ({ metricName: record(id)['name'], targetAverageValue: record(target)['averageValue'] ?? '0', selector: record(id)['selector'] }),
    Resource: ({ name, target }) => ({ name, targetAverageUtilization: record(target)['averageUtilization'], targetAverageValue: record(target)['averageValue'] }),
    ContainerResource: ({ name, container, target }) => ({ name, targetAverageUtilization: record(target)['averageUtilization'], targetAverageValue: record(target)['averageValue'], container }),
    External: ({ metric: id, target }) => ({
      metricName: record(id)['name'],
      metricSelector: record(id)['selector'],
      targetValue: record(target)['value'],
      targetAverageValue: record(target)['averageValue'],
    }),
  });

export const statusFromV1 = (metric: Values): Values =>
  converted(metric, {
    Object: ({ target, metricName, currentValue, selector, averageValue }) => ({
      describedObject: target,
      metric: identifier(metricName, selector),
      current: present({ value: currentValue, averageValue }),
    }),
    Pods: ({ metricName, currentAverageValue, selector }) => ({ metric: identifier(metricName, selector), current: present({ averageValue: currentAverageValue }) }),
    Resource: ({ name, currentAverageUtilization, currentAverageValue }) => ({ name, current: present({ averageUtilization: currentAverageUtilization, averageValue: currentAverageValue }) }),
    ContainerResource: ({ name, container, currentAverageUtilization, currentAverageValue }) => ({
      name,
      container,
      current: present({ averageUtilization: currentAverageUtilization, averageValue: currentAverageValue }),
    }),
    External: ({ metricName, metricSelector, currentValue, currentAverageValue }) => ({
      metric: identifier(metricName, metricSelector),
      current: present({ value: currentValue, averageValue: currentAverageValue }),
    }),
  });

export const statusToV1 = (metric: Values): Values =>
  converted(metric, {
    Object: ({ describedObject, metric: id, current }) => ({
      target: describedObject,
      metricName: record(id)['name'],
      currentValue: record(current)['value'] ?? '0',
      selector: record(id)['selector'],
      averageValue: record(current)['averageValue'],
    }),
    Pods: ({ metric: id, current }) => ({ metricName: record(id)['name'], currentAverageValue: record(current)['averageValue'] ?? '0', selector: record(id)['selector'] }),
    Resource: ({ name, current }) => ({ name, currentAverageUtilization: record(current)['averageUtilization'], currentAverageValue: record(current)['averageValue'] ?? '0' }),
    ContainerResource: ({ name, container, current }) => ({
      name,
      currentAverageUtilization: record(current)['averageUtilization'],
      currentAverageValue: record(current)['averageValue'] ?? '0',
      container,
    }),
    External: ({ metric: id, current }) => ({
      metricName: record(id)['name'],
      metricSelector: record(id)['selector'],
      currentValue: record(current)['value'] ?? '0',
      currentAverageValue: record(current)['averageValue'],
    }),
  });
