import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { ageColumn, column, nameColumn, none, unknown } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { autoscalerErrors, autoscalerStatusErrors } from './autoscaler-errors.ts';
import { type AutoscalerSpec, type AutoscalerStatus, autoscalerSchema, type MetricSpec, type MetricStatus, type ScalingRules } from './autoscaler-schema.ts';

const specOf = (object: ApiObject): AutoscalerSpec => typed(autoscalerSchema, object).spec ?? {};
const statusOf = (object: ApiObject): AutoscalerStatus => typed(autoscalerSchema, object).status ?? {};

const allAtOnce = { type: 'Percent', value: 100, periodSeconds: 15 };
const upRules = (): ScalingRules => ({ stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, { ...allAtOnce }] });
const downRules = (): ScalingRules => ({ selectPolicy: 'Max', policies: [{ ...allAtOnce }] });

const averageUtilization = 80;

function setDefaults(object: ApiObject): void {
  const { spec } = typed(autoscalerSchema, object);
  if (!spec) return;
  if ((spec.metrics ?? []).length === 0) spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }];
  if (!spec.behavior) return;
  spec.behavior.scaleUp = { ...upRules(), ...spec.behavior.scaleUp };
  spec.behavior.scaleDown = { ...downRules(), ...spec.behavior.scaleDown };
}

const metricsShownMax = 2;

function targets(object: ApiObject): string {
  const { metrics = [] } = specOf(object);
  const { currentMetrics } = statusOf(object);
  if (metrics.length === 0) return none;
  const shown = metrics.slice(0, metricsShownMax).map((each, index) => metricText(each, currentMetrics?.[index] ?? {}));
  return metrics.length > metricsShownMax ? `${shown.join(', ')} + ${metrics.length - metricsShownMax} more...` : shown.join(', ');
}

function metricText(spec: MetricSpec, status: MetricStatus): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external, status.external);
    case 'Object':
      return valueText(spec.object, status.object);
    case 'Pods':
      return `${quantityText(status.pods, status.pods?.current?.averageValue)}/${spec.pods?.target?.averageValue ?? '0'}`;
    case 'Resource':
      return resourceText(spec.resource, status.resource);
    case 'ContainerResource':
      return resourceText(spec.containerResource, status.containerResource);
    default:
      return '<unknown type>';
  }
}

type Source = NonNullable<MetricSpec['external']>;
type Current = NonNullable<MetricStatus['external']>;

/** A value of a status, which shows 0 where it has none. */
const quantityText = (status: object | undefined, value: string | undefined): string => (status ? (value ?? '0') : unknown);

function valueText({ target = {} }: Pick<Source, 'target'> = {}, status?: Pick<Current, 'current'>): string {
  if (target.averageValue === undefined) return `${quantityText(status, status?.current?.value)}/${target.value ?? '0'}`;
  return `${status?.current?.averageValue ?? unknown}/${target.averageValue} (avg)`;
}

function resourceText({ name = '', target = {} }: NonNullable<MetricSpec['resource']> = {}, status?: NonNullable<MetricStatus['resource']>): string {
  if (target.averageValue !== undefined) return `${name}: ${quantityText(status, status?.current?.averageValue)}/${target.averageValue}`;
  const percent = (value: number | undefined, absent: string): string => (value === undefined ? absent : `${value}%`);
  return `${name}: ${percent(status?.current?.averageUtilization, unknown)}/${percent(target.averageUtilization, '<auto>')}`;
}

const reference = (object: ApiObject): string => `${specOf(object).scaleTargetRef?.kind ?? ''}/${specOf(object).scaleTargetRef?.name ?? ''}`;

const scalesToZero = ({ features }: StrategyContext): boolean | undefined => features?.has('HPAScaleToZero');

export const horizontalPodAutoscaler = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('autoscaling'),
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
    shortNames: ['hpa'],
    categories: ['all'],
    schema: autoscalerSchema,
    columns: [
      nameColumn,
      column('Reference', 'The object that is scaled.', reference),
      column('Targets', 'Present and wanted values of the metrics.', targets),
      column('MinPods', 'Least number of pods.', (object) => `${specOf(object).minReplicas ?? '<unset>'}`),
      column('MaxPods', 'Greatest number of pods.', (object) => specOf(object).maxReplicas ?? 0),
      column('Replicas', 'Number of pods.', (object) => statusOf(object).currentReplicas ?? 0),
      ageColumn,
    ],
    strategy: {
      default: setDefaults,
      prepareForCreate: clearStatus(autoscalerSchema),
      validateCreate: (object, context) => autoscalerErrors(specOf(object), { domain: dialect.domain, toZero: scalesToZero(context) }),
      validateUpdate: (object, old, context) => autoscalerErrors(specOf(object), { old: specOf(old), domain: dialect.domain, toZero: scalesToZero(context) }),
    },
    subresources: [statusView((object) => autoscalerStatusErrors(statusOf(object)))],
  });
