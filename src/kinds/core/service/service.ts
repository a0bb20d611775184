import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts';
import { selectable } from '../../../meta/selectable-field.ts';
import { defineKind } from '../../define-kind.ts';
import type { Kind } from '../../kind.ts';
import { clearStatus, statusView } from '../../meta/status-view.ts';
import { typed } from '../../typed.ts';
import { clusterIpChangeErrors } from './cluster-ip-errors.ts';
import { alignClusterIps, dropUnused, keepAllocated } from './service-changes.ts';
import { serviceColumns } from './service-columns.ts';
import { setServiceDefaults } from './service-defaults.ts';
import { serviceErrors, serviceStatusErrors } from './service-errors.ts';
import { type ServiceSpec, serviceSchema } from './service-schema.ts';
import { needsHealthCheck, specOf } from './service-spec.ts';
import { serviceWarnings } from './service-warnings.ts';

function allocate(object: ApiObject, before: ApiObject | undefined): void {
  const [spec, old] = [specOf(object), before && specOf(before)];
  if (old) keepAllocated(spec, old);
  alignClusterIps(spec, old);
  if (old) dropUnused(spec, old);
  const { status } = typed(serviceSchema, object);
  if (status && spec.type !== 'LoadBalancer') status.loadBalancer = {};
}

function changeErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const { type, loadBalancerClass, healthCheckNodePort } = spec;
  const isMoved = type === 'LoadBalancer' && old.type === 'LoadBalancer' && loadBalancerClass !== old.loadBalancerClass;
  const isRepointed = needsHealthCheck(spec) && needsHealthCheck(old) && healthCheckNodePort !== old.healthCheckNodePort;
  return [
    ...clusterIpChangeErrors(spec, old),
    ...(isMoved ? [invalid('spec.loadBalancerClass', loadBalancerClass ?? 'null', 'may not change once set')] : []),
    ...(isRepointed ? [forbidden('spec.healthCheckNodePort', 'field is immutable')] : []),
  ];
}

export const service = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'Service',
    shortNames: ['svc'],
    categories: ['all'],
    schema: serviceSchema,
    nameFormat: 'dns1035Label',
    selectableFields: [selectable('spec.clusterIP'), selectable('spec.type')],
    columns: serviceColumns,
    strategy: {
      default: setServiceDefaults,
      prepareForCreate: clearStatus(serviceSchema),
      allocate,
      validateCreate: (object) => serviceErrors(object, dialect),
      validateUpdate: (object, old) => [...changeErrors(specOf(object), specOf(old)), ...serviceErrors(object, dialect)],
      warnings: (object) => serviceWarnings(object, dialect),
    },
    subresources: [statusView((object) => serviceStatusErrors(typed(serviceSchema, object).status ?? {}, specOf(object)))],
    createOnUpdate: true,
    deleteReturnsObject: true,
  });
