import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Column, Kind } from '../kind.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { ingressErrors, ingressStatusErrors } from './ingress-errors.ts';
import { type IngressSpec, ingressSchema } from './ingress-schema.ts';

const specOf = (object: ApiObject): IngressSpec => typed(ingressSchema, object).spec ?? {};

/** The annotation that named the class before there was a field. */
export const ingressClassAnnotation = ({ domain }: Dialect): string => `${domain}/ingress.class`;

function classErrors({ metadata, ...object }: ApiObject, dialect: Dialect): FieldError[] {
  const annotated = metadata.annotations?.[ingressClassAnnotation(dialect)];
  const { ingressClassName } = specOf({ metadata, ...object });
  if (annotated === undefined || ingressClassName === undefined || annotated === ingressClassName) return [];
  return [invalid(`annotations.${ingressClassAnnotation(dialect)}`, annotated, 'must match `ingressClassName` when both are specified')];
}

function classWarnings(object: ApiObject, dialect: Dialect): string[] {
  const name = ingressClassAnnotation(dialect);
  if (object.metadata.annotations?.[name] === undefined || specOf(object).ingressClassName !== undefined) return [];
  return [`annotation ${JSON.stringify(name)} is deprecated, please use 'spec.ingressClassName' instead`];
}

const hostsMax = 3;

function hosts(object: ApiObject): string {
  const { rules = [] } = specOf(object);
  const shown: string[] = [];
  let more = false;
  for (const { host = '' } of rules) {
    if (shown.length === hostsMax) more = true;
    if (!more && host !== '') shown.push(host);
  }
  if (shown.length === 0) return '*';
  return more ? `${shown.join(',')} + ${rules.length - hostsMax} more...` : shown.join(',');
}

function addresses(object: ApiObject): string {
  const places = typed(ingressSchema, object).status?.loadBalancer?.ingress ?? [];
  return [...new Set(places.map(({ ip, hostname }) => ip || hostname || '').filter((each) => each !== ''))].sort().join(',');
}

const columns: readonly Column[] = [
  nameColumn,
  column('Class', 'Class of the ingress.', '.spec.ingressClassName', { absent: none }),
  column('Hosts', 'Hosts that the rules are for.', hosts),
  column('Address', 'Where the load balancer takes requests.', addresses),
  column('Ports', 'Ports on which requests are taken.', (object) => ((specOf(object).tls ?? []).length > 0 ? '80, 443' : '80')),
  ageColumn,
];

export const ingress = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('networking'),
    kind: 'Ingress',
    resource: 'ingresses',
    shortNames: ['ing'],
    schema: ingressSchema,
    columns,
    strategy: {
      prepareForCreate: clearStatus(ingressSchema),
      validateCreate: (object) => [...ingressErrors(specOf(object)), ...classErrors(object, dialect)],
      validateUpdate: (object, old) => ingressErrors(specOf(object), specOf(old)),
      warnings: (object, old) => (old ? [] : classWarnings(object, dialect)),
    },
    subresources: [statusView((object) => ingressStatusErrors(typed(ingressSchema, object).status ?? {}))],
    generation: true,
  });
