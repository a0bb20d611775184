import type { Dialect } from '../../../dialect/dialect.ts';
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts';
import { selectable } from '../../../meta/selectable-field.ts';
import { defineKind } from '../../define-kind.ts';
import type { Kind } from '../../kind.ts';
import { clearStatus, statusView } from '../../meta/status-view.ts';
import { typed } from '../../typed.ts';
import { clusterIpChangeErrors } from './cluster-ip-errors.ts';
import { allocateService, shownServiceClaims } from './service-allocation.ts';
import { serviceColumns } from './service-columns.ts';
import { setServiceDefaults } from './service-defaults.ts';
import { serviceErrors, serviceStatusErrors } from './service-errors.ts';
import { serviceProxy } from './service-proxy.ts';
import { type ServiceSpec, serviceSchema } from './service-schema.ts';
import { needsHealthCheck, specOf } from './service-spec.ts';
import { serviceWarnings } from './service-warnings.ts';

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
      allocate: allocateService,
      validateCreate: (object) => serviceErrors(object, dialect),
      validateUpdate: (object, old) => [...changeErrors(specOf(object), specOf(old)), ...serviceErrors(object, dialect)],
      warnings: (object) => serviceWarnings(object, dialect),
    },
    subresources: [statusView((object) => serviceStatusErrors(typed(serviceSchema, object).status ?? {}, specOf(object))), serviceProxy],
    takesAlong: ['endpoints'],
    claims: shownServiceClaims(dialect),
    createOnUpdate: true,
    deleteReturnsObject: true,
  });
