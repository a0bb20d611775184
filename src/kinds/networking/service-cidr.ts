import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, invalidTexts, required } from '../../meta/field-error.ts';
import { parseIpRange } from '../../meta/ip-range.ts';
import type { ResourceName } from '../../meta/status-error.ts';
import { strictPrefix } from '../../meta/strict-ip.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, type Infer, list, mergeList, opt, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { condition } from '../meta/condition.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const spec = struct('api.networking.v1beta1.ServiceCIDRSpec', 'Ranges of addresses.', {
  cidrs: opt(1, list(string()), 'One range, or one of each family, in CIDR notation. Cannot change.'),
});

const status = struct('api.networking.v1beta1.ServiceCIDRStatus', 'State of ranges.', {
  conditions: opt(1, mergeList('type', condition, { duplicatesAllowed: true }), 'What is known of their state.'),
});

const schema = kindSchema('api.networking.v1beta1.ServiceCIDR', 'Ranges of addresses that services are given.', {
  spec: always(2, spec, 'The ranges.'),
  status: always(3, status, 'Their state.'),
});

const path = 'spec.cidrs';

export const serviceCidrs = (dialect: Dialect): ResourceName => ({ group: dialect.group('networking'), resource: 'servicecidrs' });

/** In CIDR notation. */
export const rangesOf = (object: ApiObject): readonly string[] => typed(schema, object).spec?.cidrs ?? [];

/** Whether services may be given addresses of a ServiceCIDR. Nobody need have called it ready, as in kube-apiserver. */
export function isOpenForServices(object: ApiObject): boolean {
  const ready = readyOf(object);
  return object.metadata.deletionTimestamp === undefined && (ready === undefined || ready.status === 'True');
}

/** What is known of whether it is ready, if anything is. */
export const readyOf = (object: ApiObject): Infer<typeof condition> | undefined => typed(schema, object).status?.conditions?.find(({ type }) => type === 'Ready');

/** Keeps a ServiceCIDR that is being deleted as long as services have addresses of it alone. */
export const rangeFinalizer = (dialect: Dialect): string => `${dialect.group('networking')}/service-cidr-finalizer`;

function validate(object: ApiObject): FieldError[] {
  const ranges = rangesOf(object);
  const wrong = (detail: string): FieldError[] => [
    { ...invalid(path, { cidrs: ranges }, detail), shown: `networking.ServiceCIDRSpec{CIDRs:[]string{${ranges.map((each) => JSON.stringify(each)).join(', ')}}}` },
  ];
  if (ranges.length === 0) return [required(path, 'at least one CIDR required')];
  if (ranges.length > 2) return wrong('may only hold up to 2 values');
  const [first, second] = ranges.map(parseIpRange);
  const isDual = first !== undefined && second !== undefined && first.family !== second.family;
  if (ranges.length === 2 && !isDual) return wrong('may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
  return errorsOfEach(ranges, rangeErrors);
}

function rangeErrors(range: string, index: number): FieldError[] {
  const at = `${path}[${index}]`;
  const parsed = strictPrefix(range);
  if ('problem' in parsed) return [invalid(at, range, parsed.problem)];
  return [
    ...(parseIpRange(range)?.text === parsed.canonical ? [] : [invalid(at, range, "wrong CIDR format, IP doesn't match network IP address")]),
    ...(parsed.canonical === range ? [] : [invalid(at, range, 'CIDR not in RFC 5952 canonical format')]),
  ];
}

const validateUpdate = (object: ApiObject, old: ApiObject): FieldError[] => [
  ...validate(object),
  ...(equalValues(rangesOf(object), rangesOf(old)) ? [] : [invalidTexts(path, rangesOf(object), 'field is immutable')]),
];

/** ServiceCIDR (KEP-1880). Beta, and so off by default. */
export const serviceCidr = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('networking'),
    version: 'v1beta1',
    kind: 'ServiceCIDR',
    scope: 'Cluster',
    schema,
    offByDefault: true,
    columns: [nameColumn, column('CIDRs', 'The ranges.', (object) => rangesOf(object).join(',')), ageColumn],
    strategy: { validateCreate: validate, validateUpdate },
    subresources: [{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'], fields: ['status'] }],
  });
